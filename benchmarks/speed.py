"""Speed as ratios: our parsing and diffing over the time that jaxlib's C++ parser takes for both sides.

All figures are CPU seconds from one run on one machine, ours and theirs in turn, the best of several. Ratios carry over
to other machines, seconds do not.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.bodies import layers, loops, unlike_fusions
from benchmarks.edits import make_one
from benchmarks.noise import QUIET, Noise, add_noise
from benchmarks.programs import ROOT, corpus
from benchmarks.workbench import Node, Workpiece, put_together, take_apart
from benchmarks.writer import write
from hlodiff.differ import diff
from hlodiff.hlo.model import Instruction, Module, Shape
from hlodiff.hlo.parser import read_hlo

# The limits that `make bench` checks.
MOST_ONE_EDIT = 0.5
MOST_ONE_BODY = 0.6
MOST_EXPONENT = 1.15
MOST_MEMORY = 10.0
MOST_UNLIKE = 10.0


@dataclass(frozen=True, slots=True)
class Measured:
    """One pair of texts: seconds, and our peak memory per byte of both texts.

    Args:
        name, instructions: the pair, and the number of instructions of one side.
        parser: jaxlib's parser on both sides.
        read, diff: our parser and differ.
        lines: parsing and canonical printing of both by jaxlib, then `diff`; NaN if there is no `diff`.
        before: parsing and diffing by an earlier version of hlodiff; NaN if none is requested.
        memory: peak of the process that parses and diffs, above its memory without programs, per byte of text.
        gibibytes: the same peak in GiB.
        wanted: the limit on `ratio`; NaN for none.
    """

    name: str
    instructions: int
    parser: float
    read: float
    diff: float
    lines: float
    before: float
    memory: float
    gibibytes: float
    wanted: float

    @property
    def ratio(self) -> float:
        """Time to parse both sides and diff them, over that of jaxlib's parser."""
        return (self.read + self.diff) / self.parser


def parse_with_xla(text: str) -> Any:
    """Read HLO text with XLA's own parser."""
    import importlib

    return importlib.import_module("jaxlib._hlo").hlo_module_from_text(text)


def repeated(module: Module, times: int) -> Module:
    """A program `times` as long: copies of the entry's instructions one after the other.

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
    """Append the entry of `other` to that of `piece`, with the same parameters; returns its root."""
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
    """The program with one opcode changed, everything renamed and reordered, metadata stripped."""
    piece = take_apart(module)
    chance = Random(seed)
    if make_one(piece, "opcode", chance) is None:
        raise ValueError("the program has no place for the edit")
    add_noise(piece, Noise(parameters=False), chance, set())
    return put_together(piece)[0]


def only_the_edit(module: Module, seed: int = 0) -> Module:
    """The program with only the same opcode changed; names, order and metadata are kept."""
    piece = take_apart(module)
    if make_one(piece, "opcode", Random(seed)) is None:
        raise ValueError("the program has no place for the edit")
    add_noise(piece, replace(QUIET, metadata="stripped"), Random(seed), set())
    return put_together(piece)[0]


def measure(
    name: str, old: str, new: str, rounds: int = 3, before: Path | None = None, wanted: float = math.nan
) -> Measured:
    """Time a pair of texts: the best of several rounds of each kind, in turn.

    Args:
        name: for the table.
        old, new: HLO texts.
        rounds: the number of rounds.
        before: the folder of an earlier version of this project, measured too.
        wanted: the limit on read + diff, as a ratio.
    """
    turns: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        parser = _seconds(lambda: (parse_with_xla(old), parse_with_xla(new)))
        started = time.process_time()
        modules = read_hlo(old), read_hlo(new)
        read = time.process_time() - started
        started = time.process_time()
        diff(*modules)
        turns.append((parser, read, time.process_time() - started))
    parser, read, found = (min(turn[n] for turn in turns) for n in range(3))
    count = read_hlo(old).instruction_count()
    lines = _seconds(lambda: _diff_of_lines(old, new), _with_children) if shutil.which("diff") else math.nan
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "old.hlo", Path(folder) / "new.hlo"]
        for path, text in zip(paths, (old, new), strict=True):
            path.write_text(text)
        _, peak = _in_a_process(ROOT, paths)
        earlier = _in_a_process(before, paths)[0] if before else math.nan
    return Measured(
        name, count, parser, read, found, lines, earlier, peak / (len(old) + len(new)), peak / 2**30, wanted
    )


def _seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    started = clock()
    work()
    return clock() - started


def _with_children() -> float:
    """CPU seconds, including those of child processes that ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def _diff_of_lines(old: str, new: str) -> None:
    """The alternative without hlodiff: XLA's canonical printing of both, and `diff`."""
    import importlib

    options = importlib.import_module("jaxlib._hlo").HloPrintOptions.canonical()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("old", old), ("new", new)):
            (Path(folder) / name).write_text(parse_with_xla(text).to_string(options))
        subprocess.run(["diff", "old", "new"], cwd=folder, capture_output=True)


# Run in a separate process with the old and the new file: seconds to parse and diff, and peak memory.
_CHILD = """
import resource, sys, time
from pathlib import Path
from hlodiff.differ import diff
from hlodiff.hlo.parser import read_hlo

def peak():  # what resource says may be the parent's: the kernel hands it on to a child
    if Path("/proc/self/status").exists():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

bare = peak()
texts = [open(path).read() for path in sys.argv[1:]]
started = time.process_time()
found = diff(*map(read_hlo, texts))
print(time.process_time() - started, peak() - bare)
"""


def _in_a_process(project: Path, paths: Sequence[Path]) -> tuple[float, float]:
    """CPU seconds, and bytes of memory including the texts."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *map(str, paths)],
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)


@contextmanager
def checkout(revision: str) -> Iterator[Path | None]:
    """An earlier version of this project in a temporary folder; None for ""."""
    if not revision:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["git", "worktree", "add", "--detach", folder, revision], cwd=ROOT, check=True, capture_output=True
        )
        try:
            yield Path(folder)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, capture_output=True)


def last_release() -> str:
    """The latest version tag; "" if there is none."""
    found = subprocess.run(
        ["git", "tag", "--list", "v*", "--sort=-v:refname"], cwd=ROOT, capture_output=True, text=True
    )
    return next(iter(found.stdout.split()), "")


def growth(rows: Sequence[Measured]) -> float:
    """Exponent of read + diff over the number of instructions, between the smallest and the largest.

    Args:
        rows: at least two. Avoid a few thousand instructions: imports and small steps take as long as such programs.
    """
    first, last = min(rows, key=lambda r: r.instructions), max(rows, key=lambda r: r.instructions)
    return math.log((last.read + last.diff) / (first.read + first.diff)) / math.log(
        last.instructions / first.instructions
    )


def pairs_by_size(sizes: Sequence[int], before: Path | None = None) -> Iterator[Measured]:
    """Measure a real program, repeated to each size, with one edit and all noise."""
    program = corpus(["mlp_step"], ["cpu"])[0]
    module = read_hlo(program.text())
    for size in sizes:
        long = repeated(module, max(1, round(size / module.instruction_count())))
        old, new = write(long), write(noisy_edit(long))
        # An earlier version may need an hour and all memory for the largest.
        yield measure(f"layers, {size:,}", old, new, 3 if size < 50_000 else 1, before if size <= 100_000 else None)


def real_pairs(names: Sequence[str], target: str = "cpu", before: Path | None = None) -> Iterator[Measured]:
    """Measure real programs with one edit, once with all noise and once without noise."""
    for program in corpus(names, [target]):
        module = read_hlo(program.text(), at_once=True)
        wanted = MOST_ONE_EDIT if module.instruction_count() > 80_000 else math.nan
        yield measure(f"{program.name}, renamed", program.text(), write(noisy_edit(module)), 5, before, wanted)
        plain = add_nothing(module)
        yield measure(f"{program.name}, same names", write(plain), write(only_the_edit(plain)), 5, before, wanted)


def add_nothing(module: Module) -> Module:
    """The unchanged program without metadata, as the generator rebuilds it."""
    piece = take_apart(module)
    add_noise(piece, replace(QUIET, metadata="stripped"), Random(0), set())
    return put_together(piece)[0]


def unlike_pairs(name: str, targets: tuple[str, str] = ("cpu", "cuda-h100"), before: Path | None = None) -> Measured:
    """Measure the worst case: one function by two compilers, with little in common but still matched."""
    old, new = (corpus([name], [target])[0].text() for target in targets)
    return measure(f"{name}, {targets[0]} against {targets[1]}", old, new, 2, before)


def all_unlike(count: int = 5_000, before: Path | None = None) -> Measured:
    """Measure two programs of `count` small, distinct fusions made of the same few opcodes."""
    return measure(f"{count:,} fusions that all differ", unlike_fusions(count, 1), unlike_fusions(count, 2), 1, before)


def repeated_bodies(before: Path | None = None) -> Iterator[Measured]:
    """Measure one edit in one of many equal bodies, once with all noise and once without noise."""
    pairs = [
        (
            f"one of {count} equal bodies",
            layers(count, size, opcode=opcode),
            layers(count, size, {count // 2: (21, "logistic")}, opcode=opcode),
        )
        for count, size, opcode in ((100, 300, "call"), (250, 100, "fusion"))
    ]
    pairs.append(
        ("one of 150 equal bodies in 50 loops", loops(50, 100, {}), loops(50, 100, {(25, 1): (21, "logistic")}))
    )
    for name, old, new in pairs:
        piece = take_apart(read_hlo(new, at_once=True))
        add_noise(piece, Noise(parameters=False), Random(0), set())
        yield measure(f"{name}, renamed", old, write(put_together(piece)[0]), 5, before, MOST_ONE_BODY)
        yield measure(f"{name}, same names", old, new, 5, before, MOST_ONE_BODY)


def show(rows: Iterable[Measured]) -> list[Measured]:
    """Print a table of ratios, row by row during measurement."""
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    columns = ("pair", "instructions", "XLA parses both", "read", "diff", "read + diff", "wanted", "canonical + diff",
               "before")  # fmt: skip
    table = Table(title="Ratios to the time that jaxlib's parser takes to read both sides; all in one run")
    for column in (*columns, "peak memory"):
        table.add_column(column, justify="left" if column == "pair" else "right")
    done = []
    with Live(table, console=Console(width=150), auto_refresh=False) as live:
        for row in rows:
            done.append(row)
            ours = [_ratio(part, row) for part in (row.read, row.diff, row.read + row.diff)]
            wanted = "" if math.isnan(row.wanted) else f"{row.wanted:.2f}"
            ratios = [*ours, wanted, *(_ratio(part, row) for part in (row.lines, row.before))]
            memory = f"{row.memory:.1f} x text, {row.gibibytes:.2f} GiB"
            table.add_row(row.name, f"{row.instructions:,}", f"{row.parser:.3f} s", *ratios, memory)
            live.refresh()
    return done


def _ratio(seconds: float, row: Measured) -> str:
    return "" if math.isnan(seconds) else f"{seconds / row.parser:.2f}"
