"""Speed as ratios: our reading, normalizing and diffing against the time jaxlib's C++ parser takes to read both sides.

Every figure is taken in one run on one machine, ours and theirs in turn, the best of several: ratios travel, seconds
do not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from benchmarks.edits import make_one
from benchmarks.noise import Noise, add_noise
from benchmarks.programs import corpus
from benchmarks.workbench import Node, Workpiece, put_together, take_apart
from benchmarks.writer import write
from hlodiff.diff import diff
from hlodiff.ir.hlo_reader import read_hlo
from hlodiff.ir.model import Instruction, Module, Shape
from hlodiff.normalize import normalize

# DESIGN.md section 10.
MOST_ONE_EDIT = 0.5
MOST_EXPONENT = 1.15
MOST_MEMORY = 10.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds for one pair of texts; `parser` is jaxlib reading both, `memory` our peak per byte of both texts."""

    name: str
    instructions: int
    parser: float
    read: float
    normalize: float
    diff: float
    memory: float

    @property
    def ratio(self) -> float:
        """Reading both sides and diffing, over the parser."""
        return (self.read + self.diff) / self.parser


def parse_with_xla(text: str) -> Any:
    """Read HLO text with XLA's own parser."""
    import importlib

    return importlib.import_module("jaxlib._hlo").hlo_module_from_text(text)


def repeated(module: Module, times: int) -> Module:
    """A program `times` as long: copies of the entry's instructions, computations and all, one after the other.

    The copies share the parameters; the root is a tuple of all roots. Called computations are copied too.
    """
    piece = take_apart(module)
    roots = [piece.entry.root, *(_append(piece, take_apart(module), number) for number in range(1, times))]
    shape = Shape("tuple", tuple_shapes=tuple(root.shape for root in roots), is_array=False)
    piece.entry.root = Node(Instruction("all_roots", "tuple", shape), roots)
    piece.entry.nodes.append(piece.entry.root)
    piece.bodies.remove(piece.entry)
    piece.bodies.append(piece.entry)
    for name in ("entry_computation_layout", "input_output_alias"):
        piece.set_attribute(name, None)
    return put_together(piece)[0]


def _append(piece: Workpiece, other: Workpiece, number: int) -> Node:
    """Put a second piece's entry behind the first one's, on the same parameters; returns its root."""
    for body in other.bodies:
        body.record = replace(body.record, name=f"{body.record.name}.copy{number}")
        for node in body.nodes:
            node.record = replace(node.record, name=f"{node.record.name}.copy{number}")
    shared = {id(a): b for a, b in zip(other.entry.parameters(), piece.entry.parameters(), strict=True)}
    for node in other.entry.nodes:
        node.operands = [shared.get(id(operand), operand) for operand in node.operands]
        node.control = [shared.get(id(before), before) for before in node.control]
    piece.bodies += [body for body in other.bodies if body is not other.entry]
    piece.entry.nodes += [node for node in other.entry.nodes if id(node) not in shared]
    return other.entry.root


def noisy_edit(module: Module, seed: int = 0) -> Module:
    """The program with one opcode changed, everything renamed and printed in another order, metadata stripped."""
    piece = take_apart(module)
    chance = Random(seed)
    if make_one(piece, "opcode", chance) is None:
        raise ValueError("the program has no place for the edit")
    add_noise(piece, Noise(parameters=False), chance, set())
    return put_together(piece)[0]


def measure(name: str, old: str, new: str, rounds: int = 3) -> Measured:
    """Time both texts; the best of several rounds of each kind, in turn."""
    modules = read_hlo(old), read_hlo(new)
    work: tuple[Callable[[], object], ...] = (
        lambda: (parse_with_xla(old), parse_with_xla(new)),
        lambda: (read_hlo(old), read_hlo(new)),
        lambda: (normalize(modules[0]), normalize(modules[1])),
        lambda: diff(modules[0], modules[1]),
    )
    turns = [[_seconds(one) for one in work] for _ in range(rounds)]
    parser, read, plain, found = (min(turn[n] for turn in turns) for n in range(len(work)))
    return Measured(name, modules[0].instruction_count(), parser, read, plain, found, _memory(old, new))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _memory(old: str, new: str) -> float:
    """Peak of what Python allocates while both sides are read and compared, per byte of text."""
    import tracemalloc

    if len(old) > 3_000_000:  # tracing makes it ten times as slow; near linear, so the smaller sizes tell
        return math.nan
    tracemalloc.start()
    diff(read_hlo(old), read_hlo(new))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (len(old) + len(new))


def growth(rows: Sequence[Measured]) -> float:
    """Exponent of read + diff over the number of instructions, between the smallest and the largest."""
    first, last = min(rows, key=lambda r: r.instructions), max(rows, key=lambda r: r.instructions)
    return math.log((last.read + last.diff) / (first.read + first.diff)) / math.log(
        last.instructions / first.instructions
    )


def pairs_by_size(sizes: Sequence[int]) -> list[Measured]:
    """A real program, repeated to each size, with one edit and all noise."""
    program = corpus(["mlp_step"], ["cpu"])[0]
    module = read_hlo(program.text())
    rows = []
    for size in sizes:
        long = repeated(module, max(1, round(size / module.instruction_count())))
        rows.append(measure(f"repeated to {size:,}", write(long), write(noisy_edit(long)), 3 if size < 50_000 else 1))
    return rows


def real_pairs(names: Sequence[str], target: str = "cpu") -> list[Measured]:
    """Real programs with one edit and all noise."""
    rows = []
    for program in corpus(names, [target]):
        module = read_hlo(program.text())
        rows.append(measure(f"{program.name} {target}", program.text(), write(noisy_edit(module))))
    return rows


def show(rows: Sequence[Measured]) -> None:
    """Print a table of ratios."""
    from rich.console import Console
    from rich.table import Table

    columns = ("pair", "instructions", "XLA parses both", "read", "normalize", "diff", "read + diff", "peak memory")
    table = Table(title="One edit and all noise; ratios to jaxlib's parser reading both sides")
    for column in columns:
        table.add_column(column, justify="left" if column == "pair" else "right")
    for row in rows:
        ratios = [f"{part / row.parser:.2f}" for part in (row.read, row.normalize, row.diff)]
        memory = "" if math.isnan(row.memory) else f"{row.memory:.1f} x text"
        table.add_row(row.name, f"{row.instructions:,}", f"{row.parser:.3f} s", *ratios, f"{row.ratio:.2f}", memory)
    Console(width=140).print(table)
