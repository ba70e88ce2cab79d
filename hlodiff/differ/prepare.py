"""The input of a diff: both programs without noise, but with their own names, order and provenance."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlodiff.hlo.fingerprint import Content, KnownContents, computation_hashes, contents
from hlodiff.hlo.model import (
    CONDITIONALS,
    Computation,
    Instruction,
    Module,
    with_attributes,
    with_computations,
    with_instructions,
)
from hlodiff.hlo.traversal import fused_only
from hlodiff.normalizer import passes_for
from hlodiff.normalizer.backend_config import is_of_xla, split_backend_config

ORDER = "branch_order"
Branches = tuple[str, ...]
"""A conditional by its opcode and the content of each branch, in order."""


def in_one_order(modules: tuple[Module, Module], hashes: Sequence[Sequence[str]]) -> tuple[Module, Module]:
    """Both modules with conditional branches reordered where that makes more of them equal.

    Args:
        modules: two programs without noise.
        hashes: content of the computations of each, by index.

    Returns:
        the modules; the same objects if nothing was reordered. Content decides which of two orders both get, so swapped
        sides give the same two modules.
    """
    places = [
        [
            (index, position)
            for index, computation in enumerate(module.computations)
            for position, it in computation.calling
            if it.opcode in CONDITIONALS and len(it.called) > 1 and _starts(it, module.computations) is not None
        ]
        for module in modules
    ]
    if not places[0] or not places[1]:
        return modules
    known = [
        Counter(_branches(module.computations[c].instructions[n], own) for c, n in found)
        for module, own, found in zip(modules, hashes, places, strict=True)
    ]
    orders: dict[Branches, list[int]] = {}
    for one, other in _exchanged(list(known[0] - known[1]), list(known[1] - known[0])):
        for branches in (one, other):
            orders[branches] = _order(branches, min(one, other))
    if not orders:
        return modules
    first, second = (
        _reordered(module, own, found, orders) for module, own, found in zip(modules, hashes, places, strict=True)
    )
    return first, second


def with_numbered_branches(module: Module) -> Module:
    """The module with the branches of all conditionals under one name.

    XLA prints a conditional on a `pred[]` with `true_computation` and `false_computation`, one on an index with
    `branch_computations`, and keeps the computation for true as branch 0 of both.
    """
    computations = list(module.computations)
    for index, computation in enumerate(computations):
        if any(it.calls[0][0] == _TRUE for _, it in computation.calling):
            kept = list(computation.instructions)
            for position, it in enumerate(kept):
                if it.opcode == "conditional" and [name for name, _ in it.calls] == [_TRUE, _FALSE]:
                    kept[position] = replace(it, calls=((_BRANCHES, it.called),))
            computations[index] = with_instructions(computation, kept)
    return with_computations(module, computations)


_TRUE, _FALSE, _BRANCHES = "true_computation", "false_computation", "branch_computations"


def _branches(it: Instruction, hashes: Sequence[str]) -> Branches:
    return (it.opcode, *(hashes[callee] for callee in it.called))


def _exchanged(olds: Sequence[Branches], news: Sequence[Branches]) -> list[tuple[Branches, Branches]]:
    """The surplus conditionals of both sides, paired by equal branches, where reordering makes more of them equal."""
    holders: dict[str, list[Branches]] = {}
    for branches in news:
        for content in dict.fromkeys(branches[1:]):
            holders.setdefault(content, []).append(branches)
    found: set[tuple[int, int, Branches, Branches, Branches, Branches]] = set()
    for one in olds:
        for other in (b for content in dict.fromkeys(one[1:]) for b in holders.get(content, ())):
            in_common = (Counter(one) & Counter(other)).total()
            gain = in_common - sum(a == b for a, b in zip(one, other, strict=False))
            if one[0] == other[0] and len(one) == len(other):
                found.add((-in_common, gain, min(one, other), max(one, other), one, other))
    paired: set[Branches] = set()
    exchanged: list[tuple[Branches, Branches]] = []
    for _, gain, *_, one, other in sorted(found):
        if paired.isdisjoint((one, other)):
            paired |= {one, other}
            exchanged += [(one, other)] if gain > 0 else []
    return exchanged


def _order(branches: Branches, target: Branches) -> list[int]:
    """For each place of the target the branch that goes there; other branches fill the rest in order."""
    free = list(range(len(branches) - 1))
    order = [-1] * len(free)
    for place, content in enumerate(target[1:]):
        same = next((n for n in free if branches[n + 1] == content), -1)
        if same >= 0:
            free.remove(same)
        order[place] = same
    return [free.pop(0) if n < 0 else n for n in order]


def _starts(it: Instruction, computations: Sequence[Computation]) -> list[int] | None:
    """The start of each branch's operands, and the end; None if they are not one per parameter.

    Compiled branches take one operand each; StableHLO branches, which are never pruned, take their captures.
    """
    starts = [1]
    for callee in it.called:
        starts.append(starts[-1] + (1 if it.opcode == "conditional" else len(computations[callee].parameters)))
    return starts if starts[-1] == len(it.operands) else None


def _reordered(
    module: Module, hashes: Sequence[str], places: Sequence[tuple[int, int]], orders: dict[Branches, list[int]]
) -> Module:
    computations = list(module.computations)
    for index, position in places:
        it = computations[index].instructions[position]
        order, starts = orders.get(_branches(it, hashes)), _starts(it, module.computations)
        if order is None or starts is None:
            continue
        slots = [0, *(slot for n in order for slot in range(starts[n], starts[n + 1]))]
        called = iter([it.called[n] for n in order])
        inside = list(computations[index].instructions)
        inside[position] = replace(
            it,
            operands=tuple(it.operands[slot] for slot in slots),
            results=tuple(it.results[slot] for slot in slots) if it.results else it.results,
            calls=tuple((name, tuple(next(called) for _ in group)) for name, group in it.calls),
            attributes=(*it.attributes, (ORDER, "{" + ",".join(map(str, order)) + "}")),
        )
        computations[index] = replace(computations[index], instructions=tuple(inside))
    return replace(module, computations=tuple(computations))


CHANNELS = ("channel_id", "channel_handle")
_STRIPPED = frozenset(["backend_config", *CHANNELS])
_CHAIN = re.compile(r'chain_id="\d+",?|,chain_id="\d+"(?=\})')
_NUMBERED_NAME = re.compile(r'(async_collective_name="[\w-]+)\.\d+(?=")')


def channel_of(it: Instruction) -> str:
    """The channel an instruction communicates on, as printed; "" for none."""
    return next((value for key, value in it.attributes if key in CHANNELS), "")


@dataclass(frozen=True, slots=True)
class HashedModule:
    """A module as used for matching (see `without_channels`), and the content of its computations."""

    module: Module
    contents: tuple[Content, ...]


class Bare:
    """Cache of computations without tuning and channel numbers, and of contents, across passes."""

    def __init__(self) -> None:
        self.known = KnownContents()
        self._found: dict[int, tuple[Computation, Computation]] = {}

    def module(self, module: Module) -> Module:
        """The module `without_channels`; computations seen before are the same objects again."""
        found: list[Computation] = []
        for owner in module.computations:
            if id(owner) not in self._found:
                is_bare = owner.attribute_names.isdisjoint(_STRIPPED)
                instructions = [] if is_bare else [bare_instruction(it) for it in owner.instructions]
                # Both are kept alive, so that no other computation can get their ids.
                self._found[id(owner)] = owner, with_instructions(owner, instructions) if instructions else owner
            found.append(self._found[id(owner)][1])
        return replace(module, computations=tuple(found))

    def hashed(self, module: Module) -> HashedModule:
        """The same, with the content of each computation."""
        stripped = self.module(module)
        return HashedModule(stripped, contents(stripped, known=self.known))


@dataclass(frozen=True, slots=True)
class DiffInput:
    """Both programs without noise, the same as used for matching, and what was dropped, by rule.

    In `modules` the branches of a conditional have one attribute name, and one order if they were reordered; in
    `printed` they are as read. `words` are the opcodes and names of attributes that occur in either program: a step
    that is about others is left out.
    """

    words: frozenset[str]
    modules: tuple[Module, Module]
    hashed: tuple[HashedModule, HashedModule]
    ignored: dict[str, int]
    printed: tuple[Module, Module]


# Passes that need the content of all computations, most of which do not change later.
_NUMBERING = frozenset(["channel_ids", "callback_numbers"])
# Attributes that hold numbers of callbacks and of host rendezvous.
_OF_NUMBERS = ("backend_config", "mhlo.backend_config", "mhlo.frontend_attributes")


def prepare_pair(old: Module, new: Module, *, only_listed: bool = False) -> DiffInput:
    """Apply every pass that drops content to both programs, and count what each pass dropped.

    Fusions that both programs have keep their parameter order. The order of interchangeable parameters depends on what
    callers pass, and an edit there must not reverse it. If both programs are `only_listed`, as removed and added, no
    fusion is reordered.
    """
    # Everything is read: lookups in a tuple take a tenth of the time.
    modules = [replace(module, computations=tuple(module.computations)) for module in (old, new)]
    bare = Bare()
    ignored: dict[str, int] = {}
    for one in passes_for(old, new):
        if not one.affects_diff or (one.name == "fusion_parameters" and only_listed):
            continue
        if one.name == "fusion_parameters":
            results = _with_parameters(modules, bare)
        elif one.name in _NUMBERING:
            results = [one.apply(module, bare.known) for module in modules]
        else:
            results = [one.apply(module) for module in modules]
        modules = [module for module, _ in results]
        if count := sum(count for _, count in results):
            ignored[one.name] = count
    words = old.words | new.words
    if not words.isdisjoint(_OF_NUMBERS):
        from hlodiff.normalizer.naming import without_own_numbers

        modules = [without_own_numbers(module) for module in modules]
    printed = ordered = (modules[0], modules[1])
    if CONDITIONALS.isdisjoint(words):
        hashed = bare.hashed(printed[0]), bare.hashed(printed[1])
    else:
        numbered = (with_numbered_branches(printed[0]), with_numbered_branches(printed[1]))
        hashed = bare.hashed(numbered[0]), bare.hashed(numbered[1])
        ordered = in_one_order(numbered, [[content.hash for content in side.contents] for side in hashed])
        if ordered is not numbered:
            hashed = bare.hashed(ordered[0]), bare.hashed(ordered[1])
    return DiffInput(words, ordered, hashed, ignored, printed)


def _with_parameters(modules: Sequence[Module], bare: Bare) -> list[tuple[Module, int]]:
    fused = [
        {
            n: tuple(sorted(it.opcode for it in module.computations[n].instructions))
            for n, is_fused in enumerate(fused_only(module))
            if is_fused and len(module.computations[n].parameters) > 1
        }
        for module in modules
    ]
    if not any(fused):
        return [(module, 0) for module in modules]
    from hlodiff.normalizer.fusion_parameters import fusion_parameters

    # Only computations with the same operation counts on both sides can be equal: no other content is computed.
    alike = set(fused[0].values()) & set(fused[1].values())
    hashes = [
        computation_hashes(
            bare.module(module), only=[n for n, opcodes in some.items() if opcodes in alike], known=bare.known
        )
        for module, some in zip(modules, fused, strict=True)
    ]
    both = set(hashes[0]) & set(hashes[1]) - {""}
    kept = [frozenset(n for n, one in enumerate(some) if one in both) for some in hashes]
    return [fusion_parameters(module, those, see_callers=False) for module, those in zip(modules, kept, strict=True)]


def without_channels(module: Module) -> Module:
    """The same module, indices alike, without tuning and channel numbers: the form used for matching.

    Backend configurations are cut down to the program's part. A channel's number means nothing; who shares it is
    compared after matching.
    """
    return Bare().module(module)


def bare_instruction(it: Instruction) -> Instruction:
    """The same instruction without tuning, and without the numbers of its channel, its chain and its name.

    A chain is the steps that a TPU takes a collective in. They pass its state from one to the next, so operands
    identify the chain; an added or removed chain renumbers the others, and an added or removed collective those that
    have its name (`async_collective_name="all-gather-start.3"`).
    """
    for key, _ in it.attributes:
        if key in _STRIPPED:
            break
    else:
        return it
    tuned = is_of_xla(it)
    kept = [(k, split_backend_config(v)[0] if tuned and k == "backend_config" else v) for k, v in it.attributes]
    kept = [(k, _NUMBERED_NAME.sub(r"\1", _CHAIN.sub("", v)) if k == "frontend_attributes" else v) for k, v in kept]
    kept = [(k, v) for k, v in kept if k != "frontend_attributes" or v != "{}"]
    return with_attributes(it, tuple([(k, v) for k, v in kept if k not in CHANNELS and (v or k not in _STRIPPED)]))


def tuning_of(it: Instruction) -> str:
    """How a GPU or TPU runs the instruction, as JSON; "" if not specified."""
    text = it.attribute("backend_config")
    return split_backend_config(text)[1] if text and is_of_xla(it) else ""
