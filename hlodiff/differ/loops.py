"""The loops of a program by trip count, and whether counts of its text can be compared with another program's.

Counts of the text include each loop body once, and so does XLA's own `cost_analysis`. For two programs with different
loops, such counts compare only if the counts of one call agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.result import ModuleDiff
from hlodiff.differ.trip_counts import TripCount, condition_fingerprint, trip_counts
from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.traversal import callees_first

EACH_ONCE = "each loop body once"
"""Suffix for XLA's figures of programs with loops."""
UNKNOWN = "unknown"
"""Label of an unknown trip count, followed by what the condition does."""
# Bound for the nested loops of a hostile file; real programs have a handful of paths.
_MOST_PATHS = 4096
_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoopComparison:
    """How the loops of two programs affect numbers that count each body once.

    Args:
        old, new: whether that side has a loop.
        same: whether an increase of such a number is also one per run: both sides have the same loops with the same
            trip counts, and no count of one call went the other way, as when something moved into or out of a loop.
    """

    old: bool = False
    new: bool = False
    same: bool = True

    def words(self) -> str:
        """The suffix for XLA's figures of both sides: "" without a loop."""
        if not (self.old or self.new):
            return ""
        side = "" if self.old and self.new else "before: " if self.old else "after: "
        return f" ({side}{EACH_ONCE})"


def loops_of(module: Module) -> Counter[_Path]:
    """Every loop by its own and the outer trip counts; `unknown` and what its condition does if not known.

    Example:
        >>> loops_of(Module("m", "compiled", (), 0))
        Counter()
    """
    found: Counter[_Path] = Counter()
    if not any(_whiles(module)):
        return found
    around: dict[int, Counter[_Path]] = {module.entry: Counter({(): 1})}
    known = trip_counts(module)
    for index in reversed(callees_first(module)):
        paths = around.get(index)
        if not paths or len(paths) > _MOST_PATHS:
            continue
        for position, it in enumerate(module.computations[index].instructions):
            inner = paths
            if it.opcode == "while":
                turns = _turns(module, known.get((index, position)), it)
                inner = Counter({(*path, turns): count for path, count in paths.items()})
                found.update(inner)
            for callee in dict.fromkeys(it.called):
                if callee != index:
                    around.setdefault(callee, Counter()).update(inner)
    return found


def has_same_bounds(diff: ModuleDiff) -> bool:
    """Whether the loops that may end at once have the same bounds on both sides.

    If only a bound was raised, as `max_steps` of a solver, whether one call does more is unknown.

    Example:
        >>> has_same_bounds(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        True
    """
    old, new = ({one.turns for one in trip_counts(side).values() if not one.least} for side in (diff.old, diff.new))
    return old == new


def data_loops(diff: ModuleDiff) -> tuple[bool, bool]:
    """Whether each side has a loop whose trip count depends on data; if both have, numbers hold at equal trip counts.

    Example:
        >>> data_loops(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        (False, False)
    """
    old, new = (
        len(counts) < sum(1 for _ in _whiles(side)) or not all(one.exact for one in counts.values())
        for side, counts in ((side, trip_counts(side)) for side in (diff.old, diff.new))
    )
    return old, new


def format_loops(module: Module) -> list[str]:
    """Trip counts of loops: `6`, nested in a loop of three `3 x 6`, or `unknown`; `6 (2 loops)` for two equal ones.

    Example:
        >>> format_loops(Module("m", "compiled", (), 0))
        []
    """
    alike: Counter[str] = Counter()
    for path, count in loops_of(module).items():
        alike[" x ".join(step.partition(" ")[0] for step in path)] += count
    return [words if count == 1 else f"{words} ({count} loops)" for words, count in sorted(alike.items())]


def compare_loops(program: ProgramComparison) -> LoopComparison:
    """How the loops of both sides affect numbers that count each body once; computed on first access.

    Args:
        program: any; a one-sided one has nothing to compare.

    Example:
        >>> compare_loops(ProgramComparison("f", "cpu", "compiled", "added"))
        LoopComparison(old=False, new=False, same=True)
    """
    diff = program.diff
    if diff is None:
        has = program.module is not None and any(_whiles(program.module))
        return LoopComparison(has and program.status != "added", has and program.status != "removed")
    known = program.memo.get("loops")
    if known is None or known[0] is not diff:
        old, new = any(_whiles(diff.old)), any(_whiles(diff.new))
        same = loops_of(diff.old) == loops_of(diff.new) and not any(_goes_another_way(diff)) if old or new else True
        known = program.memo["loops"] = (diff, LoopComparison(old, new, same))
    found: LoopComparison = known[1]
    return found


def _goes_another_way(diff: ModuleDiff) -> Iterator[bool]:
    """For each number counted both ways, whether the count of one call does not follow that of the text."""
    for name, (before, after) in diff.executed.items():
        old, new = diff.metrics.get(name, (0, 0))
        if before.exact is not None and after.exact is not None:
            yield (new > old) != (after.exact > before.exact) or (new < old) != (after.exact < before.exact)


def _turns(module: Module, known: TripCount | None, it: Instruction) -> str:
    """`6`, `6-7`, `unknown` with what the condition does, or the same with the largest number."""
    if known is not None and known.exact:
        return str(known.turns)
    if known is not None and known.least:
        return f"{known.least}-{known.turns}"
    found = f"{UNKNOWN} {condition_fingerprint(module, it)}"
    return found if known is None else f"{found} {known.turns}"


def _whiles(module: Module) -> Iterator[Instruction]:
    yield from (it for computation in module.computations for it in computation.instructions if it.opcode == "while")
