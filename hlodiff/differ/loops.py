"""The loops of a program and their trip counts: as XLA states them, otherwise as `loop_solver.py` finds them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice

from hlodiff.hlo.grammar import KNOWN_TRIP_COUNT
from hlodiff.hlo.metadata import own_place, shown_file
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.hlo.traversal import callees_first, condition_and_body, postorder

_INTEGER = re.compile(r"(?:dense<)?(-?\d+)>?")
_MOST_CONDITION_LINES = 10_000

LoopPlace = tuple[int, int]
"""A `while`: the index of its computation and its position there."""


@dataclass(frozen=True, slots=True)
class TripCount:
    """The trip count of a loop, each time it is reached.

    Args:
        turns: how often the body runs at most.
        least: how often it runs at least: 0 if another condition may end the loop at once; one less than `turns` for
            the stages of a Runge-Kutta method that may begin with the last one of the previous step.
    """

    turns: int
    least: int

    @property
    def exact(self) -> bool:
        """Whether the loop always runs as often.

        Example:
            >>> TripCount(6, 6).exact, TripCount(7, 6).exact
            (True, False)
        """
        return self.least == self.turns


def trip_counts(module: Module) -> Mapping[LoopPlace, TripCount]:
    """The trip counts of a program's loops, where they are known.

    Args:
        module: a program of either stage.

    Returns:
        by computation and position of the `while`; data-dependent loops have no entry.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> trip_counts(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        {}
    """
    known: dict[str, dict[LoopPlace, TripCount]] = module.__dict__
    if "trip_counts" not in known:
        found = known["trip_counts"] = {}
        left: list[LoopPlace] = []
        for index, computation in enumerate(module.computations):
            for position, it in computation.calling:
                if it.opcode == "while":
                    if (stated := stated_trip_count(it)) is not None:
                        found[index, position] = TripCount(stated, stated)
                    else:
                        left.append((index, position))
        if left:
            from hlodiff.differ.loop_solver import LoopSolver

            solver = LoopSolver(module)
            found |= {place: TripCount(*bounds) for place in left if (bounds := solver.bounds(*place)) is not None}
    return known["trip_counts"]


def stated_trip_count(it: Instruction) -> int | None:
    """The trip count that XLA states, if any.

    Example:
        >>> from hlodiff.hlo.model import Shape
        >>> config = ("backend_config", '{"known_trip_count":{"n":"6"}}')
        >>> stated_trip_count(Instruction("w", "while", Shape("tuple"), attributes=(config,)))
        6
    """
    found = KNOWN_TRIP_COUNT.search(it.attribute("backend_config") or "")
    return int(found.group(1)) if found else None


def condition_runs(it: Instruction, turns: int) -> int:
    """How often the condition of a `while` runs if its body runs `turns` times.

    Once more than the body; never where XLA states the trip count: its CPU and GPU runtimes then run the body that
    often without asking (seen in profiles of runs on a CPU and on an H100).

    Example:
        >>> from hlodiff.hlo.model import Shape
        >>> condition_runs(Instruction("w", "while", Shape("tuple")), 6)
        7
    """
    return 0 if stated_trip_count(it) is not None else turns + 1


def scan_length(it: Instruction, owner: Computation) -> int | None:
    """How often a `chlo.scan` runs its body: the size of the scanned dimension; None if it is dynamic or not given.

    Args:
        it: any instruction; None for other opcodes.
        owner: the computation that holds it.
    """
    dimension = _INTEGER.match(it.attribute("dimension") or "") if it.opcode == "chlo.scan" else None
    if dimension is None or not it.operands:
        return None
    scanned = owner.instructions[it.operands[0]].shape
    if scanned.tuple_shapes:
        scanned = scanned.tuple_shapes[it.results[0] if it.results else 0]
    n = int(dimension[1])
    if n >= len(scanned.dimensions) or (scanned.dynamic and scanned.dynamic[n]):
        return None
    return scanned.dimensions[n]


@dataclass(frozen=True, slots=True)
class UncountedLoop:
    """A loop with unknown trip count.

    Args:
        condition: a digest of what its condition does, without names; equal for the same loop of two programs.
        name: of the `while` in the program.
        file, line: the user's line that made it; "" and 0 if unknown.
    """

    condition: str
    name: str
    file: str = ""
    line: int = 0

    def words(self, root: str = "") -> str:
        """`the loop at model.py:12`, or its name in the program where no line is known.

        Example:
            >>> UncountedLoop("", "while.3", "model.py", 12).words(), UncountedLoop("", "while.3").words()
            ('the loop at model.py:12', 'the loop %while.3')
        """
        return f"the loop at {shown_file(self.file, root)}:{self.line}" if self.line else f"the loop %{self.name}"


def uncounted_loop(module: Module, place: LoopPlace) -> UncountedLoop:
    """A loop with unknown trip count as reports name it: by the user's line that made it."""
    it = module.computations[place[0]].instructions[place[1]]
    return UncountedLoop(condition_fingerprint(module, it), it.name, *(own_place(module.stack(it.frame)) or ("", 0)))


def condition_fingerprint(module: Module, it: Instruction, numbers: bool = True) -> str:
    """What the condition of a `while` does: operations, literals and attributes, without names.

    Used to compare loops of two programs with unknown trip counts.

    Args:
        module: a program of either stage.
        it: the `while`.
        numbers: whether literals count.
    """
    computations = condition_and_body(it)
    lines = islice(_condition_lines(module, computations[0], numbers), _MOST_CONDITION_LINES) if computations else ()
    return blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()


def _condition_lines(module: Module, index: int, numbers: bool, depth: int = 0) -> Iterator[str]:
    """What its result is made of, in the order of the operands: the order of the text means nothing."""
    owner = module.computations[index]
    order = postorder([owner.root], lambda position: owner.instructions[position].operands)
    number = {position: n for n, position in enumerate(order)}
    for position in order:
        it = owner.instructions[position]
        attributes = [f"{name}={value}" for name, value in it.attributes if name not in ("metadata", "backend_config")]
        operands = tuple(number[operand] for operand in it.operands)
        literal = it.literal if numbers else ""
        yield f"{depth} {it.opcode} {operands} {literal} {attributes} {it.shape.element_type}"
        for callee in it.called if depth < 4 else ():
            yield from _condition_lines(module, callee, numbers, depth + 1)


# --- The loops of a program by trip count.

LOOPS = ("while", "stablehlo.while")
"""Opcodes of loops, of both stages."""
UNKNOWN = "unknown"
"""Label of an unknown trip count, followed by what the condition does."""
# Bound for the nested loops of a hostile file; real programs have a handful of paths.
_MOST_PATHS = 4096
_LoopPath = tuple[str, ...]


def loops_of(module: Module) -> Counter[_LoopPath]:
    """Every loop by its own and the outer trip counts; `unknown` and what its condition does if not known.

    Example:
        >>> loops_of(Module("m", "compiled", (), 0))
        Counter()
    """
    found: Counter[_LoopPath] = Counter()
    if not any(whiles(module)):
        return found
    around: dict[int, Counter[_LoopPath]] = {module.entry: Counter({(): 1})}
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


def has_data_loop(module: Module) -> bool:
    """Whether the trip count of a loop depends on data; if it does on both sides, numbers hold at equal trip counts.

    Example:
        >>> has_data_loop(Module("m", "compiled", (), 0))
        False
    """
    known = trip_counts(module)
    return len(known) < sum(1 for _ in whiles(module)) or not all(one.exact for one in known.values())


def _turns(module: Module, known: TripCount | None, it: Instruction) -> str:
    """`6`, `6-7`, `unknown` with what the condition does, or the same with the largest number."""
    if known is not None and known.exact:
        return str(known.turns)
    if known is not None and known.least:
        return f"{known.least}-{known.turns}"
    found = f"{UNKNOWN} {condition_fingerprint(module, it)}"
    return found if known is None else f"{found} {known.turns}"


def whiles(module: Module) -> Iterator[Instruction]:
    """All loops of a program."""
    yield from (it for computation in module.computations for _, it in computation.calling if it.opcode == "while")
