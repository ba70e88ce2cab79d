"""Copies of one body: a Python line that gave the same group of operations many times over.

JAX unrolls every Python loop. Each turn leaves equal operations with one and the same Python stack, so for every stack
the operations below it are counted by what they are; where nearly all counts are multiples of one number, that is how
many copies there are. Names, order and numbers of the text say nothing here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hlodiff.anatomy.frames import InLoop, Lines, chain, line_of, unknown
from hlodiff.anatomy.labels import is_operation, labels_of, size_of, sizes_of
from hlodiff.diff.weights import weigh
from hlodiff.ir.frames import is_library
from hlodiff.ir.model import Module

LEAST_COPIES = 3
# Without a loop in the Python file: four terms of a sum and the four gates of an LSTM are equal groups too.
_SURE_COPIES, _SURE_BODY = 8, 4
_COVERED = 0.75  # first and last turns differ a little, and what surrounds a loop in one line is no turn of it
_SAME = 0.9
_AS_MUCH = 0.97
_NEARLY = 0.9
_TOP = -1  # what calls the outermost line

Order = Literal["chained", "independent"]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Copies of one body.

    Args:
        where: the lines of the body.
        callers: the lines that lead there, innermost first.
        copies: how many there are.
        body: operations in one copy, calls counted with what they call.
        order: "chained" where each copy uses what the one before it computed.
        times: at how many call sites the whole of it stands.
        in_loop: whether the lines are known to lie in a Python loop.
    """

    where: Lines
    callers: tuple[Lines, ...]
    copies: int
    body: int
    order: Order
    times: int = 1
    in_loop: bool = False

    @property
    def operations(self) -> int:
        """Operations of all copies."""
        return self.copies * self.body * self.times


def repeats(module: Module, in_loop: InLoop = unknown) -> tuple[Repeat, ...]:
    """All bodies of which a program holds several copies, largest first.

    Args:
        module: a program of either stage that knows its Python frames.
        in_loop: whether a line of a file lies in a loop of Python.

    Returns:
        one record for each body; of loops in loops the outermost that has all copies.
    """
    labels, sizes = labels_of(module), dict(enumerate(sizes_of(module)))
    found: list[Repeat] = []
    for index, weight in enumerate(weigh(module)):
        if weight.total:
            group = _Group(module, index, labels[index], sizes, in_loop)
            found += (repeat for repeat in group.repeats(weight.total))
    return tuple(sorted(found, key=lambda r: (-r.operations, r.where.file, r.where.first, r.where.function)))


@dataclass(slots=True)
class _Node:
    """A frame with everything that was computed below it."""

    counts: Counter[bytes] = field(default_factory=Counter)
    sizes: Counter[bytes] = field(default_factory=Counter)
    children: dict[int, None] = field(default_factory=dict)
    copies: int = 1
    covered: int = 0

    @property
    def operations(self) -> int:
        return self.sizes.total()


class _Group:
    """The operations of one computation below their frames."""

    def __init__(
        self, module: Module, index: int, labels: Sequence[bytes], sizes: Mapping[int, int], in_loop: InLoop
    ) -> None:
        self.module, self.in_loop = module, in_loop
        self.computation = module.computations[index]
        self.jitted = module.name.removeprefix("jit_")
        self.labels = labels
        self.nodes: dict[int, _Node] = {}
        for it, label in zip(self.computation.instructions, labels, strict=True):
            if is_operation(it) and it.frame >= 0:
                self._add(it.frame, label, size_of(it, sizes))
        for node in self.nodes.values():
            node.copies, node.covered = _copies(node)

    def _add(self, frame: int, label: bytes, size: int) -> None:
        below = _TOP
        for caller in (*chain(self.module, frame), _TOP):
            node = self.nodes.setdefault(caller, _Node())
            node.counts[label] += 1
            node.sizes[label] += size
            if below != _TOP:
                node.children[below] = None
            below = caller

    def repeats(self, times: int) -> Iterator[Repeat]:
        waiting = [_TOP] if self.nodes else []
        for frame in waiting:
            node = self.nodes[frame]
            found = self._repeat(frame, times) if node.copies >= LEAST_COPIES else None
            if found is not None:
                yield found
            waiting += self._further(frame, node.copies if found else 1)

    def _further(self, frame: int, copies: int) -> Iterator[int]:
        """Frames below that may hold copies of their own: below copies those that have more of them."""
        for child in self.nodes[frame].children:
            if copies == 1 or self.nodes[child].copies >= 2 * copies:
                yield child
            else:
                yield from self._further(child, copies)

    def _repeat(self, frame: int, times: int) -> Repeat | None:
        """The copies below a frame, named by the line that has all of them; None where these are no copies."""
        path, siblings = self._descend(frame)
        node = self.nodes[path[-1]]
        named = self._named([index for index in path if index != _TOP], siblings)
        if named is None:
            return None
        where, looped = named
        body = round(node.covered / node.copies)
        if body < 2 or not (looped or (node.copies >= _SURE_COPIES and body >= _SURE_BODY)):
            return None
        innermost = siblings[0] if siblings else path[-1]
        stack = [line_of(self.module, index) for index in chain(self.module, innermost)]
        callers = tuple(stack[_position(stack, where) + 1 :])
        return Repeat(where, callers, node.copies, body, self._order(path[-1], node), times, looped)

    def _descend(self, frame: int) -> tuple[list[int], list[int]]:
        """Down to the innermost frame that has all copies, and the lines of one function below it that share them."""
        path = [frame]
        while True:
            node = self.nodes[path[-1]]
            same = [c for c in node.children if self.nodes[c].copies == node.copies]
            whole = [c for c in same if self.nodes[c].covered >= _SAME * node.covered]
            if not whole:
                break
            path.append(whole[0])
        same = [c for c in node.children if self.nodes[c].copies % node.copies == 0]
        named = {(self.module.frames[c].file, self.module.frames[c].function) for c in same}
        shared = sum(self.nodes[c].covered for c in same) >= _SAME * node.covered
        return path, sorted(same, key=lambda c: self.module.frames[c].line) if shared and len(named) == 1 else []

    def _named(self, path: Sequence[int], siblings: Sequence[int]) -> tuple[Lines, bool] | None:
        """The lines that lie in a loop of Python, innermost and the user's own first; else the innermost ones."""
        places = [self._span(siblings)] if siblings else []
        places += [line_of(self.module, index) for index in reversed(path)]
        # The call of a jitted function may stand in a loop: that calls the program often and unrolls nothing.
        jitted = next((n for n, place in enumerate(places) if place.function.rpartition(".")[2] == self.jitted), None)
        places = places if jitted is None else places[: jitted + 1]
        known = [(place, self.in_loop(place.file, place.first)) for place in places]
        looping = [place for place, inside in known if inside]
        own = [place for place in looping if not is_library(place.file)]
        if own or looping:
            return (own or looping)[0], True
        users = [place for place in places if not is_library(place.file)] or places
        if not users:
            return None
        # A file that was read and has no loop there: copies of a recursion, or of `jax.tree.map`.
        return users[0], False

    def _span(self, siblings: Sequence[int]) -> Lines:
        first, last = (self.module.frames[siblings[n]] for n in (0, -1))
        return Lines(first.file, first.line, last.line, first.function)

    def _order(self, frame: int, node: _Node) -> Order:
        """Whether copies hang on one another: the longest way through them is longer than one of them."""
        below = self._below(frame)
        within = [is_operation(it) and it.frame in below for it in self.computation.instructions]
        depths: list[int] = []
        for it, inside in zip(self.computation.instructions, within, strict=True):
            depths.append(max((depths[operand] for operand in it.operands), default=0) + inside)
        covered = sum(count for count in node.counts.values() if _fits(count, node.copies))
        longest_alone = covered / node.copies + sum(within) - covered
        return "chained" if max(depths, default=0) > longest_alone else "independent"

    def _below(self, frame: int) -> dict[int, None]:
        found = {frame: None}
        waiting = [frame]
        for index in waiting:
            waiting += [child for child in self.nodes[index].children if child not in found]
            found |= dict.fromkeys(self.nodes[index].children)
        return found


def _position(stack: Sequence[Lines], where: Lines) -> int:
    for position, place in enumerate(stack):
        if (place.file, place.function) == (where.file, where.function) and where.first <= place.first <= where.last:
            return position
    return 0


def _copies(node: _Node) -> tuple[int, int]:
    """How many copies explain the counts best, and the operations that they cover; (1, all) where none do.

    A part of a number explains all that the number does, and so does a multiple where a body holds equal operations:
    the largest number counts that explains about as much as any.
    """
    found = {copies: _explained(node, copies) for copies in _candidates(node.counts.values())}
    fitting = {n: score for n, (score, covered) in found.items() if covered >= _COVERED * node.operations}
    if not fitting:
        return 1, node.operations
    best = max(fitting.values())
    copies = max(copies for copies, score in fitting.items() if score >= _AS_MUCH * best)
    return copies, found[copies][1]


def _explained(node: _Node, copies: int) -> tuple[float, int]:
    """How well a number of copies explains the counts, and of how many operations it does."""
    score, covered = 0.0, 0
    for label, count in node.counts.items():
        if _fits(count, copies):
            covered += node.sizes[label]
            score += node.sizes[label] * (1.0 if count % copies == 0 else _NEARLY)
    return score, covered


def _candidates(counts: Iterable[int]) -> dict[int, None]:
    return dict.fromkeys(count for count in counts if count >= LEAST_COPIES)


def _fits(count: int, copies: int) -> bool:
    """Whether a count is a multiple, or nearly: the first turn needs no gradient, and code around may add one."""
    times = max(1, round(count / copies))
    lacking = times if copies > LEAST_COPIES else 0
    return times * copies - lacking <= count <= times * copies + 1
