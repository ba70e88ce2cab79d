"""The history of recorded programs as rows: one per commit, with its changes of numbers and toolchain.

Which numbers those are is chosen here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal

from hlodiff.config import COUNTED, FACTS, KINDS, closest, measured_as
from hlodiff.differ.metrics import count, executed, metrics_by_kind, metrics_of
from hlodiff.errors import HlodiffError, UsageError
from hlodiff.hlo import read_bytes
from hlodiff.hlo.model import Stage
from hlodiff.integrations.history.commits import Commit, GitObjects, objects, touching
from hlodiff.integrations.history.recorded_numbers import COMPILED_ONLY, Kind, Reading, Readings, budget_name
from hlodiff.integrations.history.steps import Step, StepLine, folders_of, followed, kind_of, lines_of
from hlodiff.policy.budgets import executed_as
from hlodiff.snapshots import Key
from hlodiff.snapshots.keys import COMPILED, PYTEST, STABLEHLO
from hlodiff.snapshots.read import unpack

Status = Literal["new", "changed", "removed", "unreadable"]
Ends = Literal["begins", "shallow", "range"]


@dataclass(frozen=True, slots=True)
class ToolchainStep:
    """A version or flag that changed with a commit: `("jax", "0.9.2", "0.10.2")`."""

    what: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One commit in the history of a recorded program.

    Args:
        step: the commit, and the file on both sides.
        status: status of the file; "new" also if it was recorded again after it had been removed.
        before: the reading to compare with: the parent's, or the newest older one if that is unreadable.
        now: the reading after the commit; None if it removed the file.
        since: the commit of `before`, if it is not the parent.
        again: whether an older row exists although this one is "new".
        ends: for the oldest row, why there is no older one; otherwise "".
    """

    step: Step
    status: Status
    before: Reading | None
    now: Reading | None
    since: Commit | None = None
    again: bool = False
    ends: Ends | Literal[""] = ""

    @property
    def commit(self) -> Commit:
        """The commit."""
        return self.step.commit

    @property
    def merge(self) -> bool:
        """Whether the commit is a merge."""
        return len(self.commit.parents) > 1

    def value(self, metric: str) -> float | None:
        """A metric after the commit; None if unknown."""
        return value_in(self.now, metric)

    def old_value(self, metric: str) -> float | None:
        """A metric before the commit; None if there was no file, it is unknown, or it was counted differently."""
        return None if self.recounts(metric) else value_in(self.before, metric)

    @property
    def recounted(self) -> bool:
        """Whether hlodiff counts differently since this commit, so that earlier numbers are not comparable."""
        known = self.before is not None and self.now is not None and not self.now.problem
        return known and bool(self.before and self.now and self.before.version != self.now.version)

    def recounts(self, metric: str) -> bool:
        """Whether a metric is counted differently since this commit; facts of the compiler are not counted."""
        if not self.recounted or (metric in FACTS and not executed_as(metric)):
            return False
        # Fresh values were counted in the program now, by this hlodiff.
        is_fresh = (
            metric in side.fresh or (side.whole and metric not in side.values)
            for side in (self.before, self.now)
            if side is not None
        )
        return not all(is_fresh)

    def comparable(self, metric: str) -> bool:
        """Whether a larger number means more work in a real run; if the loops differ, that only holds for memory."""
        if self.before is None or self.now is None or FACTS.get(metric, "").startswith("memory.") or metric == "loops":
            return True
        if executed_as(metric) and min(self.before.version, self.now.version) > 2:
            return True  # counts one call of the program, whatever its loops are
        if self.before.turns is not None and self.now.turns is not None:
            return self.before.turns == self.now.turns
        return value_in(self.before, "loops") == value_in(self.now, "loops")

    def toolchain(self) -> tuple[ToolchainStep, ...]:
        """The toolchain changes of the commit."""
        if self.before is None or self.now is None or self.now.problem:
            return ()
        old, new = self.before.toolchain, self.now.toolchain
        keys = dict.fromkeys([*old, *new]) if old and new else {}
        return tuple(ToolchainStep(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key))

    def other_programs(self) -> tuple[str, ...]:
        """The stages whose program changed in the commit; for a scenario, the functions."""
        if self.before is None or self.now is None or self.now.problem:
            return ()
        old, new = self.before.fingerprints, self.now.fingerprints
        return tuple(stage for stage in dict.fromkeys([*old, *new]) if old.get(stage) != new.get(stage))


@dataclass(frozen=True, slots=True)
class History:
    """The history of one recorded program, newest first.

    Args:
        key: function, case and target; a scenario has no target.
        rows: newest first.
        successor: its new name, if it no longer exists at the newer end.
        predecessors: names removed in its first commit, with other programs.
        of_tests: whether it is a snapshot of a test, which is in a folder of its own.
    """

    key: Key
    rows: tuple[HistoryRow, ...]
    successor: str = ""
    predecessors: tuple[str, ...] = ()
    of_tests: bool = False

    @property
    def kind(self) -> Kind:
        """Whether it is a snapshot or the record of a scenario."""
        return kind_of(self.key)

    @property
    def name(self) -> str:
        """The name for selection: `train_step`, for a test `pytest/test_model.test_step`."""
        return f"{PYTEST}/{self.key.name}" if self.of_tests else self.key.name

    @property
    def label(self) -> str:
        """The name in reports: `train_step on cpu`."""
        return f"{self.name} on {self.key.target}" if self.key.target else self.name

    def line(self) -> tuple[HistoryRow, ...]:
        """The rows whose versions led to the newest one, oldest first, without those that a merge did not take."""
        return tuple(row for row in reversed(self.rows) if not row.step.aside)


_DERIVED = ("fusions", "custom_calls", "collectives")


def value_in(reading: Reading | None, metric: str) -> float | None:
    """A number of a reading; a counted metric that does not occur is 0.

    Example:
        >>> value_in(Reading({"fusions": 2, "op.add": 1}), "op.copy"), value_in(Reading({}), "flops")
        (0, None)
    """
    if reading is None or reading.problem:
        return None
    if metric in reading.values:
        return reading.values[metric]
    head = metric.partition(".")[0]
    if head == "op":
        return 0 if any(name.startswith("op.") for name in reading.values) else None
    return 0 if (head in _DERIVED and head in reading.values and "." in metric) or reading.whole else None


def histories(
    repository: GitObjects,
    revisions: Sequence[str],
    names: Sequence[str],
    tip: Mapping[str, str],
    wanted: Callable[[Key], bool],
    stage: Stage,
    options: Sequence[str] = (),
) -> tuple[History, ...]:
    """The histories of all matching recorded programs.

    Args:
        repository: the repository.
        revisions: ids from `revisions_of`.
        names: names of programs, or patterns.
        tip: git object of each file at the newer end, by path from the top of the repository.
        wanted: whether to include a key.
        stage: which of a snapshot's two programs to read.
        options: additional options of `git log`.

    Returns:
        histories in order of their keys.

    Raises:
        StoreError: git fails.
    """
    touches = touching(repository, revisions, folders_of(names, repository.below), options)
    lines = tuple(lines_of(touches, repository.below, tip, wanted).values())
    readings = Readings(repository, stage)
    left_out = [one for one in revisions if one.startswith("^")]
    followed(lines, repository, [*left_out, *options], readings)
    readings.read((name, line.kind, step.key) for line in lines for step in line.steps for name in (step.old, step.new))
    return tuple(_history(line, repository, readings) for line in lines)


def _history(line: StepLine, repository: GitObjects, readings: Readings) -> History:
    rows: list[HistoryRow] = []
    older: HistoryRow | None = None
    readable: tuple[Reading | None, Commit | None] = (None, None)  # the newest so far, and its commit
    for step in reversed(line.steps):
        row = _row(step, older, readable, readings, repository)
        rows.append(row)
        if not step.aside:
            older = row
            readable = (row.now, row.commit) if row.status in ("new", "changed") else readable
    rows.reverse()
    return History(line.key, tuple(rows), line.successor, line.predecessors)


def _row(
    step: Step,
    older: HistoryRow | None,
    readable: tuple[Reading | None, Commit | None],
    readings: Readings,
    repository: GitObjects,
) -> HistoryRow:
    before = readings[step.old] if step.old else None
    now = readings[step.new] if step.new else None
    since = None
    if before is not None and before.problem:
        before, since = readable
    ends: Ends | Literal[""] = ""
    if older is None and not step.aside:
        ends = "range" if step.old else "shallow" if step.commit.id in repository.shallow else "begins"
    status: Status = "removed" if now is None else "unreadable" if now.problem else "changed" if step.old else "new"
    # At the end of a shallow clone, every file looks new.
    again = status == "new" and older is not None and step.commit.id not in repository.shallow
    return HistoryRow(step, status, before, now, since, again, ends)


# --- The commits that changed one number: the largest changes, crossings of a limit, and changes above a percentage.


@dataclass(frozen=True, slots=True)
class NumberChange:
    """One commit that changed a metric.

    Args:
        row: the commit.
        old, new: the metric before and after it.

    Example:
        >>> NumberChange(None, 200, 210).share  # doctest: +SKIP
        0.05
    """

    row: HistoryRow
    old: float
    new: float

    @property
    def share(self) -> float:
        """The relative change; infinite if the old value is 0."""
        return abs(self.new - self.old) / abs(self.old) if self.old else float("inf")


def values_on(history: History, metric: str) -> Iterator[tuple[HistoryRow, float | None, float]]:
    """Rows with a known value, oldest first, each with the value before it.

    Args:
        history: of one program.
        metric: its name.

    Returns:
        rows; the value before is that of the newest older readable version; None if there is none.
    """
    last: float | None = None
    for row in history.line():
        value = row.value(metric)
        old = row.old_value(metric)
        if row.recounts(metric):
            last = None  # a differently counted value cannot be compared
        if value is not None:
            yield row, last if old is None else old, value
            last = value


def comparable(history: History, metric: str) -> tuple[HistoryRow, ...]:
    """The rows of a history's line, oldest first, that count a metric like the newest one."""
    rows = history.line()
    since = max((number for number, row in enumerate(rows) if row.recounts(metric)), default=0)
    return rows[since:]


def changes(history: History, metric: str) -> tuple[NumberChange, ...]:
    """Every commit that changed a metric, oldest first."""
    return tuple(
        NumberChange(row, old, new) for row, old, new in values_on(history, metric) if old is not None and old != new
    )


def by_size(found: Sequence[NumberChange]) -> tuple[NumberChange, ...]:
    """Largest change first; for equal changes, increases before decreases, then newest first."""
    newest_first = tuple(reversed(found))
    return tuple(sorted(newest_first, key=lambda one: (-abs(one.new - one.old), one.new < one.old)))


def crossings(found: Sequence[NumberChange], limit: float, *, above: bool) -> tuple[NumberChange, ...]:
    """Commits where a metric rose above a limit, newest first; if `above` is false, where it fell below.

    Example:
        >>> crossings((), 3.0, above=True)
        ()
    """

    def beyond(value: float) -> bool:
        return value > limit if above else value < limit

    return tuple(one for one in reversed(found) if beyond(one.new) and not beyond(one.old))


def at_least(found: Sequence[NumberChange], percent: float) -> tuple[NumberChange, ...]:
    """Commits that changed a metric by at least that many percent, largest change first."""
    return tuple(one for one in by_size(found) if one.share * 100 >= percent)


def merged_in(history: History, row: HistoryRow) -> tuple[HistoryRow, ...]:
    """The earlier versions on the branches that a merge brought in, newest first.

    Args:
        history: of one program.
        row: a merge with a version of its own; for any other row the result is empty.
    """
    wanted = set(row.commit.parents[1:])
    found = []
    for one in history.rows:  # no parent comes before its child
        if one.step.aside and one.commit.id in wanted:
            found.append(one)
            wanted.update(one.commit.parents)
    return tuple(found)


# --- The metrics that a history shows: the selected ones, or a few important ones, counted from programs if needed.

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
