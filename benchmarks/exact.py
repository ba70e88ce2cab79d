"""The exact minimum number of edits between two small computations, by integer programming.

The program minimizes the cost of a pairing of instructions: one for each instruction without partner, and one for each
pair that differs in a field or whose operands are not partners. An operand behind inserted or removed instructions
counts as unchanged. The differ is measured against this minimum.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix

from benchmarks.noise import Noise
from benchmarks.pairs import Pair, make_pair
from benchmarks.programs import Program, corpus
from benchmarks.writer import write
from hlodiff.differ import diff
from hlodiff.differ.canonical_direction import diff_in_canonical_direction
from hlodiff.differ.limits import DEFAULTS
from hlodiff.differ.prepare import prepare_pair
from hlodiff.hlo.fingerprint import computation_hashes
from hlodiff.hlo.model import Computation, Instruction, Module, is_commutative
from hlodiff.hlo.parser import read_hlo

LARGEST = 12  # instructions per side: a few hundred binary variables, well under a second


def minimum_edits(old: Computation, new: Computation) -> int:
    """The minimum number of edits that turn `old` into `new`.

    Args:
        old, new: computations of at most LARGEST instructions, without noise, that call nothing.

    Returns:
        The minimum over all pairings.

    Raises:
        ValueError: too many instructions.
    """
    if max(len(old.instructions), len(new.instructions)) > LARGEST:
        raise ValueError(f"more than {LARGEST} instructions")
    return _Problem(old, new).solve()


class _Problem:
    """Variables: p[i,j] "i and j are partners", c[i,j] "and that costs an edit". Minimize unpaired + costs.

    The price of a pair depends on what its operands are paired with. For each pair of equal fields, c[i,j] may stay 0
    only when each operand slot is explained: partners, or one side passes through instructions without partner.
    """

    def __init__(self, old: Computation, new: Computation) -> None:
        self.old, self.new = old, new
        n, m = len(old.instructions), len(new.instructions)
        self.pairs = [(i, j) for i, j in itertools.product(range(n), range(m)) if self._may_pair(i, j)]
        self.p = {pair: k for k, pair in enumerate(self.pairs)}
        self.c = {pair: len(self.pairs) + k for k, pair in enumerate(self.pairs)}
        self.count = 2 * len(self.pairs)
        self.rows: list[tuple[Mapping[int, float], float]] = []  # sum of coefficients <= bound

    def _may_pair(self, i: int, j: int) -> bool:
        """Whether opcodes or arities are equal: nobody turns a parameter into an addition."""
        a, b = self.old.instructions[i], self.new.instructions[j]
        return a.opcode == b.opcode or ("parameter" not in (a.opcode, b.opcode) and len(a.operands) == len(b.operands))

    def _differ(self, a: Instruction, b: Instruction) -> bool:
        renumbered = a.opcode == "parameter" and len(self.old.parameters) != len(self.new.parameters)
        literals = a.literal != b.literal and not renumbered
        return literals or (a.opcode, a.shape, sorted(a.attributes)) != (b.opcode, b.shape, sorted(b.attributes))

    def solve(self) -> int:
        n, m = len(self.old.instructions), len(self.new.instructions)
        for i in range(n):
            self._at_most_one([self.p[pair] for pair in self.pairs if pair[0] == i])
        for j in range(m):
            self._at_most_one([self.p[pair] for pair in self.pairs if pair[1] == j])
        for pair in self.pairs:
            self._price(pair)
        root, same_root = self._variable(), self._variable()
        self._explain(same_root, self.old.root, self.new.root)
        self.rows.append(({root: -1.0, same_root: -1.0}, -1.0))
        cost = np.zeros(self.count)
        for k in self.p.values():
            cost[k] = -2.0  # a pair saves one removed and one added
        for k in self.c.values():
            cost[k] = 1.0
        cost[root] = 1.0  # a different root among the same instructions
        matrix = lil_matrix((len(self.rows), self.count))
        for row, (terms, _) in enumerate(self.rows):
            for column, factor in terms.items():
                matrix[row, column] += factor
        limits = LinearConstraint(matrix.tocsr(), -np.inf, np.array([bound for _, bound in self.rows]))
        found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=np.ones(self.count))
        if found.x is None:
            raise RuntimeError(f"the solver gave up: {found.message}")
        return round(n + m + float(found.fun))

    def _at_most_one(self, columns: list[int]) -> None:
        self.rows.append((dict.fromkeys(columns, 1.0), 1.0))

    def _price(self, pair: tuple[int, int]) -> None:
        """Add rows that force c to 1 if the pair is chosen and differs."""
        p, c = self.p[pair], self.c[pair]
        a, b = self.old.instructions[pair[0]], self.new.instructions[pair[1]]
        if self._differ(a, b) or len(a.operands) != len(b.operands):
            self.rows.append(({p: 1.0, c: -1.0}, 0.0))
            return
        orders = [b.operands]
        if is_commutative(a):
            orders.append(b.operands[::-1])
        chosen = []
        for order in dict.fromkeys(orders):
            switch = self._variable()
            chosen.append(switch)
            for x, y in zip(a.operands, order, strict=True):
                self._explain(switch, x, y)
        self.rows.append(({p: 1.0, c: -1.0, **dict.fromkeys(chosen, -1.0)}, 0.0))

    def _explain(self, switch: int, x: int, y: int) -> None:
        """Allow `switch` to be 1 only if there are partners at or above x and y with nothing paired in between."""
        ways = []
        for u, v in itertools.product(self._above(self.old, x), self._above(self.new, y)):
            if (u[-1], v[-1]) not in self.p:
                continue
            way = self._variable()
            ways.append(way)
            self.rows.append(({way: 1.0, self.p[u[-1], v[-1]]: -1.0}, 0.0))
            for passed in u[:-1]:
                self._unpaired(way, 0, passed)
            for passed in v[:-1]:
                self._unpaired(way, 1, passed)
        self.rows.append(({switch: 1.0, **dict.fromkeys(ways, -1.0)}, 0.0))

    def _unpaired(self, way: int, side: int, position: int) -> None:
        for pair, k in self.p.items():
            if pair[side] == position:
                self.rows.append(({way: 1.0, k: 1.0}, 1.0))

    def _above(self, owner: Computation, start: int) -> list[tuple[int, ...]]:
        """Upward paths from an operand, itself included; an operand may be explained through unpaired ones."""
        paths: list[tuple[int, ...]] = [(start,)]
        queue = paths.copy()
        for path in queue:
            for operand in dict.fromkeys(owner.instructions[path[-1]].operands):
                if len(paths) < 60:
                    paths.append((*path, operand))
                    queue.append((*path, operand))
        return paths

    def _variable(self) -> int:
        self.count += 1
        return self.count - 1


def small_programs(programs: Sequence[Program]) -> Iterator[Module]:
    """All distinct computations of 4 to 10 instructions without calls, each as a program of its own."""
    seen: set[str] = set()
    for program in programs:
        module = read_hlo(program.text())
        for computation, content in zip(module.computations, computation_hashes(module), strict=True):
            plain = 4 <= len(computation.instructions) <= 10 and not any(it.calls for it in computation.instructions)
            if plain and not computation.execution_thread and content not in seen:
                seen.add(content)
                yield Module("small", "compiled", (computation,), 0)


def compared(programs: Sequence[Program], pairs: int, seed: int) -> Iterator[tuple[Pair, int, int]]:
    """Small programs with one to three edits: the pair, the number of reported edits, and the minimum."""
    texts = [write(module) for module in small_programs(programs)]
    for number in range(pairs):
        chance = Random(f"exact {seed} {number}")
        noise = Noise(metadata="stripped", config=False, header=False, parameters=False)
        pair = make_pair(chance.choice(texts), "several", noise, chance, chance.randint(1, 3))
        if pair is not None and len(pair.new.entry_computation.instructions) <= LARGEST:
            reported = sum(edit.count for edit in diff(pair.old, pair.new).edits)
            yield pair, reported, minimum_edits(pair.old.entry_computation, pair.new.entry_computation)


def upgraded(old: Path, new: Path) -> Iterator[tuple[str, int, int]]:
    """Small computations of one function by two compilers: the place, the number of reported edits, and the minimum.

    Args:
        old, new: folders of HLO files; files of equal names are compared.
    """
    seen: set[tuple[str, str]] = set()
    for path in sorted(old.rglob("*.hlo")):
        other = new / path.relative_to(old)
        if not other.exists():
            continue
        modules = read_hlo(path.read_text()), read_hlo(other.read_text())
        ready = prepare_pair(*modules)
        for pair in diff_in_canonical_direction(ready, DEFAULTS).found.pairs:
            if pair.old_side is None or pair.new_side is None:
                continue
            small = [Module("small", "compiled", (side.computation,), 0) for side in (pair.old_side, pair.new_side)]
            if not all(_is_small(module.entry_computation) for module in small):
                continue
            texts = write(small[0]), write(small[1])
            if texts not in seen:
                seen.add(texts)
                reported = sum(edit.count for edit in diff(*small).edits)
                yield (
                    f"{path.stem}: {pair.old_side.computation.name}",
                    reported,
                    minimum_edits(small[0].entry_computation, small[1].entry_computation),
                )


def _is_small(computation: Computation) -> bool:
    return len(computation.instructions) <= LARGEST and not any(it.calls for it in computation.instructions)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print how far above the minimum the differ is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--upgrade", type=Path, nargs=2, metavar="FOLDER", help="two folders of the same programs")
    options = parser.parse_args(arguments)
    if options.upgrade:
        return _print_upgrade(list(upgraded(*options.upgrade)))
    rows = list(compared(corpus(), options.pairs, options.seed))
    reported, least = sum(r for _, r, _ in rows), sum(m for _, _, m in rows)
    print(f"{len(rows)} small programs: {reported} edits reported, {least} are the minimum ({reported / least:.3f})")
    for pair, ours, minimum in [row for row in rows if row[1] != row[2]][:5]:
        print(f"\n{ours} reported, {minimum} needed:\n{pair.old_text}\n{pair.new_text}")
    return 0


def _print_upgrade(rows: Sequence[tuple[str, int, int]]) -> int:
    reported, least = sum(r for _, r, _ in rows), sum(m for _, _, m in rows)
    print(
        f"{len(rows)} small computations: {reported} edits reported, {least} are the minimum ({reported / least:.3f})"
    )
    for where, ours, minimum in [row for row in rows if row[1] != row[2]][:20]:
        print(f"  {where}: {ours} reported, {minimum} needed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
