"""What the rows of a history say, in words: values with their change, toolchains, renames, and where history ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hlodiff.config_policy import is_bytes
from hlodiff.history import History, Row
from hlodiff.report.numbers import bytes_in_words, change_in_words, count_in_words, many

STAGES = {"stablehlo": "StableHLO", "compiled": "compiled"}
UNSHALLOW = "this clone is shallow; `git fetch --unshallow` brings the rest"
_MOST_FRESH = 4
_MANY_TIMES = 10
_EXACT = 1e6  # above, a change is told in percent


def value_in_words(metric: str, value: float | None) -> str:
    """A metric with its unit; "" where it is not known.

    Example:
        >>> value_in_words("temp_bytes", 2048), value_in_words("fusions", 12), value_in_words("flops", None)
        ('2.0 KiB', '12', '')
    """
    if value is None:
        return ""
    return bytes_in_words(value) if is_bytes(metric) else count_in_words(value)


def delta_in_words(metric: str, old: float | None, new: float | None) -> str:
    """By how much a metric changed, short: small counts by their difference, the rest in percent; "" for not at all.

    Example:
        >>> delta_in_words("fusions", 3, 5), delta_in_words("temp_bytes", 2048, 1024), delta_in_words("fusions", 3, 3)
        ('+2', '-50 %', '')
    """
    if old is None or new is None or old == new:
        return ""
    if not is_bytes(metric) and max(abs(old), abs(new)) < _EXACT:
        return f"{new - old:+,.0f}"
    return _change(metric, old, new)


def _change(metric: str, old: float, new: float) -> str:
    """In percent; where that says nothing, how many times as much, or the difference itself with its unit."""
    words = change_in_words(old, new)
    if not old or not new:
        return words
    if new / old >= _MANY_TIMES:
        return f"{new / old:,.0f} times"
    if words == "-100 %":  # nearly, and not all of it
        return f"{max(100 * (new - old) / old, -99.9):.1f} %"
    return f"{new - old:+,.0f} B" if is_bytes(metric) and not words.endswith("%") else words


def both_in_words(metric: str, old: float | None, new: float | None) -> str:
    """Both sides and the change: `2.0 KiB -> 1.0 KiB (-50 %)`.

    Example:
        >>> both_in_words("fusions", 3, 4), both_in_words("fusions", 3, 3), both_in_words("temp_bytes", 40962, 40960)
        ('3 -> 4 (+33 %)', '3', '40,962 -> 40,960 (-2 B)')
    """
    before, after = value_in_words(metric, old), value_in_words(metric, new)
    if old is None or new is None or old == new:
        return after or before
    if before == after:
        before, after = f"{old:,.15g}", f"{new:,.15g}"
    return f"{before} -> {after}" + (f" ({_change(metric, old, new)})" if old and new else "")


def toolchain_in_words(row: Row) -> tuple[str, ...]:
    """What a commit changed in the toolchain: `jax 0.9.2 -> 0.10.2`; a jaxlib that goes with its jax is not told."""
    changes = row.toolchain()
    jax = next(((one.old, one.new) for one in changes if one.what == "jax"), None)
    told = [one for one in changes if not (one.what == "jaxlib" and (one.old, one.new) == jax)]
    return tuple(f"{one.what} {_value(one.old)} -> {_value(one.new)}" for one in told)


def notes_of(row: Row, history: History, metrics: Sequence[str]) -> tuple[str, ...]:
    """What must be said of a commit beside its numbers.

    Args:
        row: the commit.
        history: whose it is.
        metrics: those that are shown, so that a change outside of them can be told.

    Returns:
        sentences without markup, not yet escaped, most important first.
    """
    return tuple(_notes(row, history, metrics))


def _notes(row: Row, history: History, metrics: Sequence[str]) -> Iterator[str]:
    if row.status == "unreadable":
        assert row.now is not None
        file = "traces.yaml" if history.kind == "scenario" else "summary.yaml"
        is_said = row.now.trouble.startswith(("is ", "holds "))
        yield f"{file} {row.now.trouble}" if is_said else f"{file} cannot be read: {row.now.trouble}"
    if row.status == "removed":
        newest = row is next((one for one in history.rows if not one.step.aside), None)
        yield f"renamed: goes on as {history.successor}" if newest and history.successor else "removed"
    if row.step.aside:
        yield "on a side branch: the merge has another version"
    changed = toolchain_in_words(row)
    if changed:
        yield f"toolchain: {', '.join(changed)}{_by_compiler(row)}"
    if row.since and row.status == "changed":
        yield f"compared with {row.since.short}, the newest before it that can be read"
    if row.step.was:
        yield f"renamed from {_old_name(row)}"
    if row.again:
        yield "recorded again"
    if row.merge and row.status == "changed":
        yield "merge: neither parent's version"
    if row.status == "changed" and all(row.value(m) == row.old_value(m) for m in metrics):
        yield from _same_numbers(row, history)
    yield from _end(row, history)


def _by_compiler(row: Row) -> str:
    programs = row.other_programs()
    if programs == ("compiled",):
        return " (StableHLO is the same, so the compiler did this)"
    return "" if programs else " (the same programs)"


def _same_numbers(row: Row, history: History) -> Iterator[str]:
    programs = row.other_programs()
    if row.before is None or row.step.was or (not programs and toolchain_in_words(row)):
        return
    if not programs:
        fresh = [name for name in row.now.values if name not in row.before.values] if row.now else []
        same = "the same programs" if row.before != row.now else "the same summary: other files of the snapshot changed"
        yield f"{same}, recorded with {', '.join(fresh[:_MOST_FRESH])}" if fresh else same
    elif history.kind == "scenario":
        yield f"other programs of {', '.join(programs)}, the same counts"
    else:
        yield f"these numbers are the same; {' and '.join(STAGES.get(one, one) for one in programs)} changed"


def _old_name(row: Row) -> str:
    """The old name of a function; where it is the same, or other snapshots held it, the folder."""
    step = row.step
    own = "/".join(filter(None, (step.key.function, step.key.case, step.key.target)))
    if step.was.endswith(f"/{own}"):
        return step.was.removesuffix(f"/{own}")
    if step.was == own:
        return "the top of the repository"
    inside = step.was.removeprefix(f"{step.base}/") if step.base else step.was
    return inside.removesuffix(f"/{step.key.target}") if step.key.target else inside


def _end(row: Row, history: History) -> Iterator[str]:
    if row.ends == "begins":
        others = ", ".join(dict.fromkeys(history.predecessors))
        yield "history begins here" + (f"; the same commit removed {others}, another program" if others else "")
    elif row.ends == "shallow":
        yield f"history ends here: {UNSHALLOW}"


def summary_in_words(history: History, metric: str) -> str:
    """A metric from the oldest to the newest version that has it: `164 -> 210 (+28 %)`."""
    values = [value for row in history.line() if (value := row.value(metric)) is not None]
    if not values:
        return "not known"
    words = both_in_words(metric, values[0], values[-1])
    if values[0] == values[-1]:
        low, high = min(values), max(values)
        if low == high:
            return f"{words}, unchanged"
        return f"{words}, between {value_in_words(metric, low)} and {value_in_words(metric, high)}"
    return words


def head_in_words(history: History, stage: str) -> str:
    """`train_step on cpu, compiled: 12 commits, 2026-01-05 to 2026-03-09`."""
    what = "traces of a scenario" if history.kind == "scenario" else STAGES[stage]
    days = sorted({row.commit.day for row in history.rows})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"{history.label}, {what}: {many(len(history.rows), 'commit')}, {when}"


def _value(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "none"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
