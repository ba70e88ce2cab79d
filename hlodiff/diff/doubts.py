"""Where leaving computations out could change the answer, and which of them have to be looked at after all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hlodiff.diff.branches import ORDER
from hlodiff.diff.edits import RawEdit
from hlodiff.diff.hollow import LEAF
from hlodiff.diff.narrow import Narrowed
from hlodiff.diff.pairs import is_embedded
from hlodiff.diff.walk import at
from hlodiff.ir.model import Computation, Module
from hlodiff.ir.outline import Chunk
from hlodiff.ir.sketch import called_names


def reopened(narrowed: Narrowed, edits: Iterable[RawEdit]) -> Narrowed | None:
    """The pair with more of it opened, or itself where nothing is in doubt; None where all has to be.

    What is called is in doubt where a call came, went or has other operands: operands in another order are no edit
    where what is called cannot tell them apart. So is what uses an instruction that did: it may have taken another one
    for it where it cannot tell them apart. A reducer that came or went is still there where computations call it
    that both programs hold as they are, so that it takes all of them to know. And where a call came or went, which one
    did hangs on all that hold the same, with their parameters in whatever order.

    Args:
        narrowed: what was compared.
        edits: single edits, places in its modules.
    """
    edits = list(edits)
    if any(_is_in_doubt_everywhere(narrowed, side, edits) for side in (0, 1)) or any(map(_exchanges_branches, edits)):
        return None
    keys: set[int] = set()
    twins = _Twins(narrowed, 0), _Twins(narrowed, 1)
    users = _Users(narrowed.modules[0]), _Users(narrowed.modules[1])
    for edit in edits:
        for side, place in enumerate((edit.old, edit.new)):
            if place is None:
                continue
            module = narrowed.modules[side]
            it = at(module, place)
            if it.opcode == LEAF and it.attributes:
                return None  # a leaf of a hollow computation: not as equal as it looked
            if it.opcode == LEAF or (it.calls and _is_about_calls(edit)):
                keys |= set(_closed(narrowed, side, (place[0],) if it.opcode == LEAF else it.called))
            if _is_about_calls(edit):
                keys.update(key for called in users[side].called_with(place) for key in _closed(narrowed, side, called))
            if it.calls and edit.kind != "changed":
                keys.update(twins[side].of(it.called))
    return narrowed.wider({*keys, *narrowed.reopened}) if keys else narrowed


def _is_about_calls(edit: RawEdit) -> bool:
    return edit.kind != "changed" or any(change.field == "operands" for change in edit.changes)


def _exchanges_branches(edit: RawEdit) -> bool:
    """Whether a conditional has its branches in another order: then so it has its operands, equal ones among them."""
    return any(change.field == f"attribute:{ORDER}" for change in edit.changes)


def _closed(narrowed: Narrowed, side: int, called: Iterable[int]) -> Iterator[int]:
    """Keys of the computations behind these that were left out."""
    module = narrowed.modules[side]
    waiting = list(dict.fromkeys(called))
    for index in waiting:
        computation = module.computations[index]
        if _is_closed(computation):
            key = narrowed.sketches[side].keys[computation.name]
            assert key is not None  # only what has a key was left out
            yield key
        waiting += [c for it in computation.instructions for c in it.called if c not in waiting]


class _Users:
    """Who takes what an instruction of a module gives; looked for once in each computation."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._found: dict[int, Sequence[Sequence[int]]] = {}

    def called_with(self, place: tuple[int, int]) -> Iterator[tuple[int, ...]]:
        """What fusions call that have an instruction and another one like it as operands."""
        owner = self._module.computations[place[0]]
        if place[0] not in self._found:
            self._found[place[0]] = owner.users()
        it = owner.instructions[place[1]]
        for position in self._found[place[0]][place[1]]:
            user = owner.instructions[position]
            if user.opcode == "fusion" and any(
                operand != place[1] and owner.instructions[operand].shape == it.shape for operand in user.operands
            ):
                yield user.called


class _Twins:
    """What was left out of one side of a pair though it holds the same as something that is there."""

    def __init__(self, narrowed: Narrowed, side: int) -> None:
        self._narrowed, self._side = narrowed, side
        self._chunks: list[Chunk | None] = []
        self._closed: list[tuple[int, Chunk]] = []

    def of(self, called: Iterable[int]) -> Iterator[int]:
        """Keys of those that hold the same as one of these computations."""
        module, sketch = self._narrowed.modules[self._side], self._narrowed.sketches[self._side]
        if not self._chunks:
            self._chunks = [sketch.chunks.get(computation.name) for computation in module.computations]
            numbered = enumerate(self._chunks)
            self._closed = [(n, chunk) for n, chunk in numbered if chunk and _is_closed(module.computations[n])]
        for index in called:
            ours = self._chunks[index]
            if ours is None or _is_closed(module.computations[index]):
                continue
            for n, theirs in self._closed:
                if theirs.lines == ours.lines and self._hold_the_same(n, index):
                    key = sketch.keys[theirs.name]
                    assert key is not None  # only what has a key was left out
                    yield key

    def _hold_the_same(self, one: int, other: int) -> bool:
        return _held(self._narrowed, self._side, one) == _held(self._narrowed, self._side, other)


def _held(narrowed: Narrowed, side: int, index: int) -> Counter[object]:
    return Counter((it.opcode, it.shape) for it in narrowed.body(side, index).instructions)


def _is_closed(computation: Computation) -> bool:
    first = computation.instructions[0]
    return first.opcode == LEAF and not first.attributes


def _is_in_doubt_everywhere(narrowed: Narrowed, side: int, edits: Iterable[RawEdit]) -> bool:
    """Whether something came or went inside what is applied to elements, and what was left out applies that too."""
    places = ((edit.old, edit.new)[side] for edit in edits if edit.kind != "changed")
    module, sketch = narrowed.modules[side], narrowed.sketches[side]
    touched = {place[0] for place in places if place is not None}
    names = {module.computations[index].name for index in touched & _applied(module)} if touched else set()
    if not names:
        return False
    hidden = (chunk for chunk in sketch.program.chunks if sketch.keys[chunk.name] in narrowed.hidden)
    return any(not names.isdisjoint(called_names(sketch.program.text[chunk.body : chunk.end])) for chunk in hidden)


def _applied(module: Module) -> set[int]:
    calls = ((it, name, to) for c in module.computations for it in c.instructions for name, to in it.calls)
    return {index for it, name, to in calls if is_embedded(it, name) for index in to}
