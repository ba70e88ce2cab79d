"""The pass `fusion_parameters`: a fusion's parameters are numbered by first use, depth first from its root."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from hashlib import blake2b
from typing import Any

from hlodiff.hlo.fingerprint import neighbourhood_hashes, renumbered_hash, with_callees
from hlodiff.hlo.grammar import aliased_buffers
from hlodiff.hlo.model import (
    Computation,
    Instruction,
    Module,
    is_commutative,
    with_attribute,
    with_computations,
    with_instructions,
    with_literal,
)
from hlodiff.hlo.traversal import call_sites, callees_first, fused_only, operands_first, preorder
from hlodiff.normalizer.backend_config import parse_config, print_config

# Levels of operands compared before the hashes of everything an operand is computed from: a distant edit then rarely
# flips the order of two operands, and with it the numbers of all parameters. Measured in naming.py.
_TREE_LEVELS = 3


def has_tie(computation: Computation, hashes: Sequence[bytes]) -> bool:
    """Whether some commutative operation has two different operands with equal hashes."""
    return any(
        is_commutative(it) and it.operands[0] != it.operands[1] and hashes[it.operands[0]] == hashes[it.operands[1]]
        for it in computation.instructions
    )


def may_tie(computation: Computation) -> bool:
    """Whether some commutative operation has two different operands of one opcode: no others can have equal hashes."""
    opcodes = [it.opcode for it in computation.instructions]
    return any(
        len(it.operands) == 2
        and it.operands[0] != it.operands[1]
        and opcodes[it.operands[0]] == opcodes[it.operands[1]]
        and is_commutative(it)
        for it in computation.instructions
    )


def first_uses(computation: Computation, deep: Sequence[Sequence[bytes]], *, by_number: bool) -> list[int]:
    """Parameter numbers, depth first from the root, then from the rest; operands of commutative operations by content.

    Args:
        computation: the computation, its parameters numbered 0, 1, 2.
        deep: hashes of its instructions, which may be missing unless it `may_tie`; each breaks the ties of the one
            before.
        by_number: whether operands that all these leave equal are ordered by parameter number; if not, they keep the
            order of the operation, which does not depend on the numbering.

    Returns:
        Each number once.
    """
    number = {position: n for n, position in enumerate(computation.parameters)}

    def operands(position: int) -> Sequence[int]:
        it = computation.instructions[position]
        if len(it.operands) == 2 and it.operands[0] != it.operands[1] and is_commutative(it):
            return _in_order_of_content(computation, it.operands, deep, number if by_number else {})
        return it.operands

    return [number[position] for position in preorder((computation.root, *number), operands) if position in number]


def _in_order_of_content(
    computation: Computation, both: Sequence[int], deep: Sequence[Sequence[bytes]], number: dict[int, int]
) -> Sequence[int]:
    """Order two operands by the opcodes near them, then by everything they are computed from."""
    one, other = both
    for level in range(_TREE_LEVELS):
        first, second = opcode_tree(computation, one, level), opcode_tree(computation, other, level)
        if first != second:
            return both if first < second else (other, one)
    keys = [(*(key[n] for key in deep), number.get(n, 0)) for n in both]
    return both if keys[0] <= keys[1] else (other, one)


def opcode_tree(computation: Computation, position: int, levels: int = _TREE_LEVELS) -> str:
    """The opcodes of an instruction and its operands, to some depth: `add(multiply,tanh)`; order-free ones sorted."""
    it = computation.instructions[position]
    if not levels or not it.operands:
        return it.opcode
    operands = [opcode_tree(computation, operand, levels - 1) for operand in it.operands]
    if is_commutative(it) or it.opcode == "fusion":
        operands.sort()
    return f"{it.opcode}({','.join(operands)})"


# Attributes that refer to operands or parameters by number, or to a channel.
_POSITIONAL = frozenset(["output_to_operand_aliasing", "backend_config", "channel_id"])


def order_free_hashes(module: Module, fused: Sequence[bool], only: Iterable[int] | None = None) -> list[list[bytes]]:
    """Order-free hashes: for each instruction of each computation, of everything it is computed from.

    They do not depend on the order of a fusion's parameters: those count by shape alone, and the operands of a fusion
    are a multiset. With `only`, computations not reachable from these get empty lists.
    """
    wanted = None if only is None else with_callees(module, only)
    found: list[list[bytes]] = [[] for _ in module.computations]
    roots: dict[int, bytes] = {}
    known: dict[tuple[object, ...], bytes] = {}  # most instructions that call nothing repeat another one
    for index in callees_first(module):
        if wanted is not None and index not in wanted:
            continue
        computation, unnumbered = module.computations[index], fused[index]
        labels: list[bytes] = []
        for it in computation.instructions:
            key = it.opcode, it.shape.text, it.literal, it.attributes, unnumbered
            own = known.get(key) if not it.calls else None
            if own is None:
                own = known[key] = label(it, roots, unnumbered=unnumbered)
            labels.append(own)
        found[index] = _with_operands(computation, labels, fused)
        roots[index] = found[index][computation.root]
    return found


def label(it: Instruction, roots: dict[int, bytes], *, unnumbered: bool) -> bytes:
    """A hash of an instruction without its operands, including what it calls."""
    literal = "" if it.literal is None or (unnumbered and it.opcode == "parameter") else it.literal
    parts = [it.opcode, it.shape.text, literal]
    parts += [f"{k}={v}" for k, v in it.attributes if k not in _POSITIONAL]
    state = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12)
    for _, group in it.calls:
        for callee in group:
            state.update(roots.get(callee, b"cycle"))
    return state.digest()


def _with_operands(computation: Computation, labels: Sequence[bytes], fused: Sequence[bool]) -> list[bytes]:
    """Merkle hashes over labels; the operands of fusions and commutative operations are a multiset."""
    found: list[bytes] = [b""] * len(labels)
    for position in operands_first(computation):
        it = computation.instructions[position]
        operands = [found[operand] for operand in it.operands]
        if len(operands) > 1 and (is_commutative(it) or (it.opcode == "fusion" and all(fused[c] for c in it.called))):
            operands.sort()
        found[position] = (
            blake2b(labels[position] + b"".join(operands), digest_size=12).digest() if operands else labels[position]
        )
    return found


# Levels of operands that order interchangeable parameters before everything they are computed from does: an edit
# elsewhere then does not swap them.
CONTEXT_LEVELS = 4

Context = tuple[Any, ...]
"""A label and the contexts of the operands: a nested, comparable tuple that shares equal parts."""


class LocalContext:
    """The operands of the instructions of one computation, to some depth, each computed once.

    Numbers of parameters and tuple elements are compared as numbers: two arguments keep their order if a third one is
    added before them. Literals and called computations are not part of it, and the operands of fusions are a multiset.

    Args:
        computation: any.
        fused: whether only fusions call it, so that its parameters have no numbers yet.
    """

    def __init__(self, computation: Computation, fused: bool) -> None:
        self._instructions = computation.instructions
        self._fused = fused
        self._found: dict[tuple[int, int], Context] = {}

    def of(self, position: int, levels: int = CONTEXT_LEVELS) -> Context:
        """The context of an instruction.

        Args:
            position: of the instruction.
            levels: how many levels of operands it covers.

        Returns:
            Equal tuples for equal contexts; otherwise their order rarely changes with an edit.
        """
        key = (position, levels)
        if key not in self._found:
            it = self._instructions[position]
            operands = [self.of(operand, levels - 1) for operand in it.operands] if levels else []
            if is_commutative(it) or it.opcode == "fusion":
                operands.sort()
            self._found[key] = (*self._label(it), *operands)
        return self._found[key]

    def _label(self, it: Instruction) -> tuple[str, str, int]:
        text = it.attribute("index")
        if it.opcode == "parameter" and not self._fused:
            text = it.literal
        return it.opcode, it.shape.text, int(text) if text is not None and text.isdecimal() else -1


def ranked(computation: Computation, passed: Sequence[Context]) -> list[bytes]:
    """For each instruction, the ranks of the call's operands that it is computed from.

    Args:
        computation: the callee; its parameters are numbered 0, 1, 2.
        passed: the context of the operand that a call passes for each parameter.

    Returns:
        Keys that sort as the operands do.
    """
    rank = {context: n for n, context in enumerate(sorted(set(passed)))}
    numbers = {position: rank[passed[n]] for n, position in enumerate(computation.parameters)}
    found: list[frozenset[int]] = [frozenset()] * len(computation.instructions)
    for position in operands_first(computation):
        own = (numbers[position],) if position in numbers else ()
        found[position] = frozenset(own).union(
            *(found[operand] for operand in computation.instructions[position].operands)
        )
    return [b"".join(n.to_bytes(4, "big") for n in sorted(ranks)) for ranks in found]


# The calling computation and the position of the calling instruction.
Place = tuple[int, int]


def call_orders(
    bodies: Sequence[Computation],
    index: int,
    order: list[int],
    inside: Sequence[Sequence[bytes]],
    places: Sequence[Place],
    hashes: Sequence[Sequence[bytes]],
    fused: Sequence[bool],
    interchangeable: InterchangeableParameters,
) -> dict[Place, list[int]]:
    """Operand orders of the calls whose interchangeable operands are ordered differently from the parameters.

    Args:
        bodies: all computations.
        index: the computation that is called.
        order: old numbers of its parameters in their new order.
        inside: hashes of its instructions that leave interchangeable parameters equal.
        places: its calls.
        hashes: `order_free_hashes` of the module.
        fused: for each computation whether only fusions call it.
        interchangeable: which parameters can be swapped, of all computations.

    Returns:
        Old numbers of the operands in the order in which the call passes them; the computation is the same in either.
    """
    computation = bodies[index]
    if not has_tie(computation, inside[-1]):
        return {}
    found: dict[Place, list[int]] = {}
    for caller, at in places:
        owner = bodies[caller]
        operands = owner.instructions[at].operands
        context = interchangeable.context(caller).of
        contexts = [[context(operand, levels) for operand in operands] for levels in range(CONTEXT_LEVELS + 1)]
        passed = [hashes[caller][operand] for operand in operands]
        # The hashes again, with the passed operand mixed into each parameter.
        labels = list(inside[0])
        for number, parameter in enumerate(computation.parameters):
            labels[parameter] = blake2b(labels[parameter] + passed[number], digest_size=12).digest()
        deep = [
            *inside,
            *(ranked(computation, those) for those in contexts),
            _with_operands(computation, labels, fused),
        ]
        own = first_uses(computation, deep, by_number=False)
        if own != order and interchangeable.same(index, order, own):
            found[caller, at] = own
    return found


class InterchangeableParameters:
    """Which parameters are interchangeable: the computation has the same content with their numbers swapped.

    Args:
        bodies: all computations; callees must be final before a caller is queried.
        fused: for each computation whether only fusions call it.
    """

    def __init__(self, bodies: Sequence[Computation], fused: Sequence[bool]) -> None:
        self._bodies, self._fused = bodies, fused
        self._contexts: dict[int, LocalContext] = {}
        self._found: dict[int, str] = {}
        self._known: dict[tuple[str, tuple[int, ...]], bool] = {}

    def context(self, caller: int) -> LocalContext:
        """The local contexts of a computation."""
        if caller not in self._contexts:
            self._contexts[caller] = LocalContext(self._bodies[caller], self._fused[caller])
        return self._contexts[caller]

    def same(self, index: int, order: Sequence[int], other: Sequence[int]) -> bool:
        """Whether the computation is the same with its parameters numbered in either order."""
        key = (self._renumbered(index, order), tuple([order.index(n) for n in other]))
        if key not in self._known:
            self._known[key] = key[0] == self._renumbered(index, other)
        return self._known[key]

    def _renumbered(self, index: int, order: Sequence[int]) -> str:
        body = self._bodies[index]
        return renumbered_hash(body, self._called(body), [order.index(n) for n in range(len(order))])

    def _called(self, computation: Computation) -> dict[int, str]:
        """Hashes by index; includes at least everything that this computation calls."""
        for callee in computation.callees:
            if callee not in self._found:
                self._found[callee] = "cycle"
                body = self._bodies[callee]
                self._found[callee] = renumbered_hash(body, self._called(body), range(len(body.parameters)))
        return self._found


_ALIAS = re.compile(r"(\{[\d,\s]*\}:\s*\()(\d+)")


def fusion_parameters(module: Module, kept: Container[int] = (), *, see_callers: bool = True) -> tuple[Module, int]:
    """Number the parameters of computations that only fusions call by first use, and permute the call operands.

    `subtract(p0,p1)` called with (a,b) and `subtract(p1,p0)` called with (b,a) become the same. The computations of the
    indices in `kept` stay as they are. With `see_callers` each call sorts its operands for interchangeable parameters;
    otherwise those keep their order.
    """
    fused = fused_only(module)
    bodies = list(module.computations)
    ordered = {n for n, body in enumerate(bodies) if fused[n] and n not in kept and len(body.parameters) > 1}
    if not ordered:
        return module, 0
    hashes = order_free_hashes(module, fused, None if see_callers else [n for n in ordered if may_tie(bodies[n])])
    sites = call_sites(module)
    passed: dict[Place, list[int]] = {}
    changed: dict[int, None] = {}
    interchangeable = InterchangeableParameters(bodies, fused)
    for index in callees_first(module):  # a fusion in a fusion first: the outer walk follows its operands
        if not fused[index] or index in kept:
            continue
        bodies[index] = _with_permuted_calls(index, bodies[index], passed)
        if index not in ordered:
            continue
        places = [(caller, at) for caller, at, _ in sites[index]]
        if not _fit(module, bodies[index], places):
            continue
        # These hashes cover the users of a parameter but not what callers pass, so equal bodies stay equal.
        inside: list[Sequence[bytes]] = [hashes[index]]
        if hashes[index] and has_tie(bodies[index], hashes[index]):
            inside.append(neighbourhood_hashes(bodies[index], hashes[index]))
        order = first_uses(bodies[index], inside, by_number=not see_callers)
        orders = dict.fromkeys(places, order)
        if see_callers and len(inside) > 1:
            orders |= call_orders(bodies, index, order, inside, places, hashes, fused, interchangeable)
        passed |= {place: new for place, new in orders.items() if new != sorted(new)}
        if order != sorted(order):
            bodies[index] = _renumbered(bodies[index], order)
        if order != sorted(order) or any(place in passed for place in places):
            changed[index] = None
    if not changed:
        return module, 0
    others = [
        body if fused[n] and n not in kept else _with_permuted_calls(n, body, passed) for n, body in enumerate(bodies)
    ]
    return with_computations(module, others), len(changed)


def _with_permuted_calls(index: int, computation: Computation, passed: dict[Place, list[int]]) -> Computation:
    if not any((index, at) in passed for at, _ in computation.calling):
        return computation
    permuted = [
        _permuted(it, passed[index, at]) if it.calls and (index, at) in passed else it
        for at, it in enumerate(computation.instructions)
    ]
    return with_instructions(computation, permuted)


def _fit(module: Module, computation: Computation, places: Sequence[Place]) -> bool:
    """Whether there are two parameters or more, numbered in order, and every call passes as many operands."""
    parameters = computation.parameters
    count = len(parameters)
    if count < 2 or any(computation.instructions[p].literal != str(n) for n, p in enumerate(parameters)):
        return False
    return all(len(module.computations[caller].instructions[at].operands) == count for caller, at in places)


def _renumbered(computation: Computation, order: Sequence[int]) -> Computation:
    new = {old: n for n, old in enumerate(order)}
    instructions = [
        with_literal(it, str(new[it.number])) if it.opcode == "parameter" else it for it in computation.instructions
    ]
    return with_instructions(computation, instructions)


def _permuted(it: Instruction, order: Sequence[int]) -> Instruction:
    permuted = Instruction(
        it.name, it.opcode, it.shape, tuple([it.operands[old] for old in order]), it.results, it.attributes, it.calls,
        it.control_predecessors, it.literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip
    new = {old: n for n, old in enumerate(order)}
    aliasing = permuted.attribute("output_to_operand_aliasing")
    if aliasing is not None:
        moved = _ALIAS.sub(lambda m: m.group(1) + str(new.get(int(m.group(2)), int(m.group(2)))), aliasing)
        permuted = with_attribute(permuted, "output_to_operand_aliasing", moved)
    config = permuted.attribute("backend_config")
    if config is not None and "aliasing_operands" in config:
        permuted = with_attribute(permuted, "backend_config", _moved_aliases(config, new))
    return permuted


def _moved_aliases(text: str, new: dict[int, int]) -> str:
    """TPU: lists of buffers that share memory, by operand number; the number after the last operand is the result."""
    config = parse_config(text)
    if config is None or not (lists := aliased_buffers(config)):
        return text
    for one in lists:
        one["indices"] = sorted((str(new.get(int(n), int(n))) for n in one["indices"]), key=int)
    lists.sort(key=lambda one: [int(n) for n in one["indices"]])
    return print_config(config)
