"""What a metric of a budget is on both sides of a program, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hlodiff.config_policy import is_bytes, measured_as
from hlodiff.diff.compared import Compared
from hlodiff.diff.metrics import count, metrics_by_kind, metrics_of

Pair = tuple[float | None, float | None]
_Table = Mapping[str, float]


@dataclass(slots=True)
class Measured:
    """One program with its numbers, counted at the first look."""

    program: Compared
    _alone: tuple[_Table, Mapping[str, _Table]] | None = field(default=None, repr=False)

    def value(self, metric: str) -> Pair:
        """A metric on the old and the new side.

        Args:
            metric: a name that `measured_as` knows.

        Returns:
            None for a side that there is not, or of which the compiler does not say it. What was counted and did not
            turn up is 0.
        """
        named = measured_as(metric)
        assert named is not None, metric
        kind, name = named
        if (not kind and name.startswith(("memory.", "cost."))) or name in _RAW:
            old, new = self.program.old_facts.get(name), self.program.new_facts.get(name)
            return old, new
        if self.program.diff is not None:
            return self._pair(kind, name)
        whole, by_kind = self._counted()
        value = by_kind.get(kind, {}).get(name, 0) if kind else whole.get(name, 0)
        return (None if self.program.status == "added" else value), value

    def _pair(self, kind: str, name: str) -> Pair:
        diff = self.program.diff
        assert diff is not None
        if kind:
            return diff.kinds.get(kind, {}).get(name, (0, 0))
        if name.startswith("op."):
            return diff.op_counts.get(name.removeprefix("op."), (0, 0))
        return diff.metrics.get(name, (0, 0))

    def _counted(self) -> tuple[_Table, Mapping[str, _Table]]:
        if self._alone is None:
            assert self.program.now is not None
            counts = count(self.program.now)
            ops = {f"op.{opcode}": number for opcode, number in counts.ops.items()}
            self._alone = {**metrics_of(counts), **ops}, metrics_by_kind(counts)
        return self._alone


# Facts that are no table of their own: only raw text shows them.
_RAW = ("estimated_cycles", "rematerialized", "functions")


def in_words(metric: str, value: float) -> str:
    """A value of a metric with its unit.

    Example:
        >>> in_words("temp_bytes", 3 * 2**20), in_words("temp_bytes", 12), in_words("fusions", 12)
        ('3.0 MiB', '12 B', '12')
    """
    if not is_bytes(metric):
        return f"{value:,.0f}"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            return f"{value / size:,.1f} {unit}"
    return f"{value:,.0f} B"
