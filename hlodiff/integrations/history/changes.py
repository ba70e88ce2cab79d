"""The commits that changed one number: where it changed most, where it crossed a limit, where it changed much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlodiff.integrations.history.rows import History, HistoryRow


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
        """By how much it changed, as a share of what it was; infinite where it was 0."""
        return abs(self.new - self.old) / abs(self.old) if self.old else float("inf")


def values_on(history: History, metric: str) -> Iterator[tuple[HistoryRow, float | None, float]]:
    """Rows with a known value, oldest first, each with the value before it.

    Args:
        history: of one program.
        metric: its name.

    Returns:
        the value before is that of the newest older version that can be read; None where there is none.
    """
    last: float | None = None
    for row in history.line():
        value = row.value(metric)
        old = row.old_value(metric)
        if row.recounts(metric):
            last = None  # what was counted differently is no value to compare with
        if value is not None:
            yield row, last if old is None else old, value
            last = value


def comparable(history: History, metric: str) -> tuple[HistoryRow, ...]:
    """The rows of a history's line, oldest first, that count a metric as the newest one does."""
    rows = history.line()
    since = max((number for number, row in enumerate(rows) if row.recounts(metric)), default=0)
    return rows[since:]


def changes(history: History, metric: str) -> tuple[NumberChange, ...]:
    """Every commit that changed a metric, oldest first."""
    return tuple(
        NumberChange(row, old, new) for row, old, new in values_on(history, metric) if old is not None and old != new
    )


def by_size(found: Sequence[NumberChange]) -> tuple[NumberChange, ...]:
    """The largest change first; of equal ones what grew before what fell, then the newest."""
    newest_first = tuple(reversed(found))
    return tuple(sorted(newest_first, key=lambda one: (-abs(one.new - one.old), one.new < one.old)))


def crossings(found: Sequence[NumberChange], limit: float, *, above: bool) -> tuple[NumberChange, ...]:
    """Commits that took a metric over a limit, newest first; with `above` false, those that took it below.

    Example:
        >>> crossings((), 3.0, above=True)
        ()
    """

    def beyond(value: float) -> bool:
        return value > limit if above else value < limit

    return tuple(one for one in reversed(found) if beyond(one.new) and not beyond(one.old))


def at_least(found: Sequence[NumberChange], percent: float) -> tuple[NumberChange, ...]:
    """Commits that changed a metric by that many percent or more, the largest change first."""
    return tuple(one for one in by_size(found) if one.share * 100 >= percent)


def merged_in(history: History, row: HistoryRow) -> tuple[HistoryRow, ...]:
    """What the branches that a merge brought in had done before: their versions, newest first.

    Args:
        history: of one program.
        row: a merge with a version of its own; any other row has merged nothing.
    """
    wanted = set(row.commit.parents[1:])
    found = []
    for one in history.rows:  # no parent comes before its child
        if one.step.aside and one.commit.id in wanted:
            found.append(one)
            wanted.update(one.commit.parents)
    return tuple(found)
