"""Numbers of programs with loops: a loop's body counts once, so two programs compare only where their loops are equal.

XLA's own estimates (`cost.flops`, `cost.bytes_accessed`) count a loop's body once, and so does hlodiff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.metrics import counted_as
from hlodiff.differ.multiplicity import multiplicities
from hlodiff.differ.result import ModuleDiff
from hlodiff.differ.trip_counts import TripCount, condition_fingerprint
from hlodiff.differ.trip_counts import trip_counts as known_trip_counts
from hlodiff.hlo.model import Instruction, Module, callees_first

ONE_TURN = "one turn of each loop"
# Sizes of memory are what they are however often loops turn, and these count parts of the program's text.
_NO_RUNS = ("memory.", "functions", "loops", "lowered_functions")
_MEMORY = ("temp_bytes", "argument_bytes", "output_bytes", "alias_bytes", "peak_bytes", "code_bytes")
# Compilers put them wherever they are used, and they cost nothing.
_ANYWHERE = frozenset(["constant", "iota", "while"])
_MOST_PATHS = 4096
_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turns:
    """What the loops of two programs do to the comparison of their numbers.

    Args:
        old, new: whether that side has a loop, so that its numbers are of one turn of each.
        same: whether both sides have the same loops, which turn as often, and nothing moved into or out of one. If
            not, a number that grew may be smaller in a real run, and the reverse.
    """

    old: bool = False
    new: bool = False
    same: bool = True

    def words(self) -> str:
        """What stands behind a number of both sides: "" where there is no loop."""
        if not (self.old or self.new):
            return ""
        side = "" if self.old and self.new else "before: " if self.old else "after: "
        return f" ({side}{ONE_TURN})"


def counts_turns(metric: str) -> bool:
    """Whether a metric, in its name or that of a budget, is more where a loop's body is counted more often.

    Example:
        >>> counts_turns("cost.flops"), counts_turns("collectives.all-reduce"), counts_turns("memory.temp")
        (True, True, False)
    """
    return not metric.startswith((*_NO_RUNS, "host_temp", "host_argument", "host_output")) and metric not in _MEMORY


def turns_of(program: ProgramComparison) -> Turns:
    """What loops do to the numbers of a program; worked out at the first look.

    Args:
        program: any; one with one side only has nothing to compare.

    Example:
        >>> turns_of(ProgramComparison("f", "cpu", "compiled", "added"))
        Turns(old=False, new=False, same=True)
    """
    diff = program.diff
    if diff is None:
        has = program.module is not None and any(_whiles(program.module))
        return Turns(has and program.status != "added", has and program.status != "removed")
    known = program.memo.get("turns")
    if not (isinstance(known, tuple) and known[0] is diff):
        known = program.memo["turns"] = (diff, _compare(diff))
    found: Turns = known[1]
    return found


def trip_counts(module: Module) -> list[str]:
    """How often loops turn: `6`, in a loop of three turns `3 x 6`, or `unknown`; `6 (2 loops)` where two turn alike.

    Example:
        >>> trip_counts(Module("m", "compiled", (), 0))
        []
    """
    alike: Counter[str] = Counter()
    for path, count in _profile(module)[0].items():
        alike[" x ".join(step.partition(" ")[0] for step in path)] += count
    return [words if count == 1 else f"{words} ({count} loops)" for words, count in sorted(alike.items())]


def _compare(diff: ModuleDiff) -> Turns:
    old, new = any(_whiles(diff.old)), any(_whiles(diff.new))
    if not old and not new:
        return Turns()
    (old_loops, old_ops), (new_loops, new_ops) = _profile(diff.old), _profile(diff.new)
    same = old_loops == new_loops and not _crossed(old_ops, new_ops) and not _moved(diff)
    return Turns(old, new, same)


def _crossed(old: dict[str, Counter[_Path]], new: dict[str, Counter[_Path]]) -> bool:
    """Whether some operation became fewer in one loop (or outside of all) and more in another."""
    for opcode in dict.fromkeys([*old, *new]):
        before, after = old.get(opcode, Counter()), new.get(opcode, Counter())
        changes = [after[path] - before[path] for path in dict.fromkeys([*before, *after])]
        if any(change > 0 for change in changes) and any(change < 0 for change in changes):
            return True
    return False


def _moved(diff: ModuleDiff) -> bool:
    """Whether an instruction moved between a loop and what is no loop."""
    moved = [edit for edit in diff.edits if edit.kind == "moved"]
    if not moved:
        return False
    before, after = multiplicities(diff.old), multiplicities(diff.new)
    return any(
        bool(before[old.computation].in_loop) != bool(after[new.computation].in_loop)
        for edit in moved
        for old, new in edit.sites
        if old and new and old.opcode not in _ANYWHERE
    )


def _profile(module: Module) -> tuple[Counter[_Path], dict[str, Counter[_Path]]]:
    """Every loop by its own and the outer loops' turns, and the operations by the loops they stand in."""
    if not module.computations:
        return Counter(), {}
    paths: dict[int, Counter[_Path]] = {module.entry: Counter({(): 1})}
    loops: Counter[_Path] = Counter()
    ops: dict[str, Counter[_Path]] = {}
    known = known_trip_counts(module)
    for index in reversed(callees_first(module)):
        around = paths.get(index)
        if not around or len(around) > _MOST_PATHS:
            continue
        for position, it in enumerate(module.computations[index].instructions):
            name = counted_as(module, it)
            if name and name not in _ANYWHERE:
                ops.setdefault(name, Counter()).update(around)
            inner = around
            if it.opcode == "while":
                turns = _turns(module, known.get((index, position)), it)
                inner = Counter({(*path, turns): count for path, count in around.items()})
                loops.update(inner)
            for callee in dict.fromkeys(it.called):
                if callee != index:
                    paths.setdefault(callee, Counter()).update(inner)
    return loops, ops


def _turns(module: Module, known: TripCount | None, it: Instruction) -> str:
    """How often a loop turns, as two programs can be compared by: its condition where nobody can say."""
    if known is not None and known.exact:
        return str(known.turns)
    return f"unknown {condition_fingerprint(module, it)}"


def _whiles(module: Module) -> Iterator[Instruction]:
    yield from (it for computation in module.computations for it in computation.instructions if it.opcode == "while")
