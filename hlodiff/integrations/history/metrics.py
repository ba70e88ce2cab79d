"""The metrics that a history shows: the selected ones, or a few important ones, counted from programs if needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from hlodiff.config import COUNTED, FACTS, KINDS, closest, measured_as
from hlodiff.differ.metrics import count, executed, metrics_by_kind, metrics_of
from hlodiff.errors import HlodiffError, UsageError
from hlodiff.hlo import read_bytes
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history.commits import GitObjects, objects
from hlodiff.integrations.history.recorded_numbers import COMPILED_ONLY, Kind, Reading, budget_name
from hlodiff.integrations.history.rows import History, HistoryRow, value_in
from hlodiff.snapshots.keys import COMPILED, STABLEHLO
from hlodiff.snapshots.read import unpack

# The default columns; columns that are always 0 or unknown are hidden.
SHOWN: dict[str, tuple[str, ...]] = {
    "compiled": ("instructions", "fusions", "copies", "collective_bytes", "temp_bytes", "flops"),
    "stablehlo": ("instructions", "ops", "converts", "broadcasts", "transposes", "lowered_functions"),
    "scenario": ("traces", "compiles", "programs", "waste"),
}
_ROWS_AT_ONCE = 32  # rows whose programs are held in memory
_MOST_NAMED = 40


def available(histories: Iterable[History]) -> tuple[str, ...]:
    """The metrics of any version of any program, in order of first appearance."""
    found: dict[str, None] = {}
    for one in histories:
        for row in one.rows:
            for reading in (row.now, row.before):
                found |= dict.fromkeys(reading.values) if reading else {}
    return tuple(found)


def check_metrics(selected: Sequence[str], histories: Sequence[History], kind: Kind, stage: Stage) -> None:
    """Refuse metrics that no program can have.

    Args:
        selected: names of metrics.
        histories: histories of one kind.
        kind, stage: their kind and stage.

    Raises:
        UsageError: an unknown metric; the message lists similar names and the known ones.
    """
    known = available(histories)
    for metric in selected:
        if metric in known or (kind == "program" and _can_be(metric, stage)):
            continue
        if kind == "program" and stage == "stablehlo" and metric in FACTS:
            raise UsageError(f"{metric} is a number of compiled programs", hint="leave out `--stage stablehlo`")
        raise UsageError(f"no metric is called `{metric}` here", hint=_there_are(metric, known))


def _can_be(metric: str, stage: Stage) -> bool:
    """Whether a program may have a metric that its summary omits, because it is 0, unknown or not stored."""
    named = measured_as(metric)
    if named is None or (stage == "stablehlo" and metric in FACTS and metric != "lowered_functions"):
        return False
    # Any word is a valid name here, so one that never occurs is a typo.
    return not metric.startswith(("op.", "fusions.", "custom_calls."))


def _there_are(metric: str, known: Sequence[str]) -> str:
    """The nearest names and all names: those of one table if the name has its prefix, else the plain ones."""
    head, dot, _ = metric.partition(".")
    listed = [name for name in known if dot and name.startswith(f"{head}.")]
    listed = listed or [name for name in known if "." not in name] or list(known)
    similar = closest(metric, known) or next((name for name in known if name.startswith(metric)), "")
    words = ", ".join(listed[:_MOST_NAMED])
    more = len(listed) - _MOST_NAMED
    there = f"there are {words}{f' and {more} more' if more > 0 else ''}" if listed else "there are none"
    return f"did you mean `{similar}`? {there}" if similar else there


def shown_metrics(selected: Sequence[str], history: History, stage: Stage) -> tuple[str, ...]:
    """The columns of a history's table."""
    if selected:
        return tuple(dict.fromkeys(selected))
    names = SHOWN["scenario" if history.kind == "scenario" else stage]
    return tuple(n for n in names if any(row.value(n) or row.old_value(n) for row in history.rows)) or names[:1]


def completed(
    histories: Sequence[History], selected: Sequence[str], repository: GitObjects, stage: Stage
) -> tuple[History, ...]:
    """Complete histories with metrics that summaries do not store, counted in the programs themselves.

    Args:
        histories: histories of programs.
        selected: names of metrics.
        repository: the repository with the programs.
        stage: which program.

    Returns:
        the same histories; if a program cannot be read, the number stays unknown.
    """
    needed = [metric for metric in selected if _needs_program(metric, stage)]
    return tuple(_completed(one, needed, repository, stage) for one in histories)


def _needs_program(metric: str, stage: Stage) -> bool:
    """Facts come from the compiler and cannot be counted from a program."""
    kind, _, rest = metric.partition(".")
    if kind in KINDS and rest:
        return True
    return metric not in FACTS and (stage == "compiled" or kind in COMPILED_ONLY or kind in COUNTED)


def _completed(one: History, needed: Sequence[str], repository: GitObjects, stage: Stage) -> History:
    lacking = [row for row in one.rows if any(_lacks(row, metric) for metric in needed)]
    found: dict[str, Reading] = {}
    known: dict[bytes, Reading | None] = {}  # many commits have the same program
    for start in range(0, len(lacking), _ROWS_AT_ONCE):
        places = [place for row in lacking[start : start + _ROWS_AT_ONCE] for place in _places(row)]
        found |= _counted([place for place in dict.fromkeys(places) if place not in found], repository, stage, known)
    rows = tuple(_with(row, found) if row in lacking else row for row in one.rows)
    return replace(one, rows=rows)


def _lacks(row: HistoryRow, metric: str) -> bool:
    return any(one and not one.problem and value_in(one, metric) is None for one in (row.now, row.before))


def _places(row: HistoryRow) -> tuple[str, str]:
    """The snapshot's folder on both sides in git's notation, `COMMIT:FOLDER`."""
    since = row.since.id if row.since else f"{row.commit.id}^1"
    return f"{since}:{row.step.was or row.step.folder}", f"{row.commit.id}:{row.step.folder}"


def _with(row: HistoryRow, found: Mapping[str, Reading]) -> HistoryRow:
    before, now = (
        replace(
            known,
            values={**found[place].values, **known.values},
            whole=True,
            fresh=frozenset(found[place].values.keys() - known.values.keys()),
        )
        if known and not known.problem and place in found
        else known
        for known, place in zip((row.before, row.now), _places(row), strict=True)
    )
    return replace(row, before=before, now=now)


def _counted(
    places: Sequence[str], repository: GitObjects, stage: Stage, known: dict[bytes, Reading | None]
) -> dict[str, Reading]:
    file = COMPILED if stage == "compiled" else STABLEHLO
    contents = objects(repository, [f"{place}/{file}{packed}" for place in places for packed in ("", ".gz")])
    found = {}
    for place in places:
        plain, packed = contents.get(f"{place}/{file}"), contents.get(f"{place}/{file}.gz")
        content = packed if isinstance(packed, bytes) else plain
        if not isinstance(content, bytes):
            continue
        digest = sha256(content).digest()
        if digest not in known:
            known[digest] = _count(content, f"{place}/{file}", isinstance(packed, bytes))
        reading = known[digest]
        if reading is not None:
            found[place] = reading
    return found


def _count(content: bytes, where: str, packed: bool) -> Reading | None:
    """The counts of a program; None if it cannot be read."""
    try:
        module = read_bytes(unpack(content, where) if packed else content, path=where)
        counts = count(module)
    except HlodiffError:
        return None
    values = dict(_renamed(metrics_of(counts), ""))
    for name, number in executed(module).items():
        if number.exact is None:
            values.pop(budget_name(name), None)
        else:
            values[budget_name(name)] = number.exact
    for kind, table in metrics_by_kind(counts).items():
        values |= dict(_renamed(table, f"{kind}."))
    return Reading({**values, **{f"op.{opcode}": number for opcode, number in counts.ops.items()}}, whole=True)


def _renamed(table: Mapping[str, float], prefix: str) -> Iterator[tuple[str, float]]:
    for name, value in table.items():
        head, _, family = name.partition(".")
        yield prefix + (f"collectives.{family}.bytes" if head == "collective_bytes" and family else name), value
