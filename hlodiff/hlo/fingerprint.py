"""Content hashes of instructions and computations that ignore names and printed order.

A computation is hashed along a canonical walk: from the root (then from every other instruction without users) along
operands in order, numbering instructions at their first visit. An instruction used twice has one number, so sharing
counts, which a bottom-up (Merkle) hash alone cannot see: add(add(c,c),add(c,c)) with one c and with four equal ones
differ. Operands of commutative operations are visited in an order determined by content.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from hlodiff.hlo.model import (
    Computation,
    Instruction,
    Module,
    is_commutative,
)
from hlodiff.hlo.traversal import callees_first, operands_first, postorder, preorder, without_callers

# Header and instruction attributes that only describe layouts; skipped if layouts are ignored.
_LAYOUT_ATTRIBUTES = frozenset(["entry_computation_layout", "operand_layout_constraints", "operand_layouts"])


@dataclass(frozen=True, slots=True)
class Content:
    """Hashes of one computation; tuples are indexed like its instructions.

    Args:
        hash: hash of the whole computation.
        labels: hash of each instruction alone with its callees: opcode, shape, attributes, literal.
        operand_hashes: hash of the label and everything it is computed from, bottom-up (Merkle), so without sharing.
        order: a topological order, operands first, determined by content alone.
    """

    hash: str
    labels: tuple[bytes, ...]
    operand_hashes: tuple[bytes, ...]
    order: tuple[int, ...]


def digest(parts: Iterable[bytes]) -> bytes:
    """A 16-byte hash of the parts, each with its length so that ("ab","c") and ("a","bc") differ."""
    parts = list(parts)
    try:
        whole = [piece for part in parts for piece in (_SMALL[len(part)], part)]
    except IndexError:
        whole = [piece for part in parts for piece in (_int(len(part)), part)]
    return blake2b(b"".join(whole), digest_size=_SIZE).digest()


_SIZE = 16


Labelled = tuple[str, str, str | None, tuple[tuple[str, str], ...]]


class KnownContents:
    """Contents of computations, each computed once.

    Known computations are found by identity (passes leave most computations unchanged) and by content (a program has
    many equal bodies, and two programs have more).

    Args:
        layout, schedule: as for `contents`.
    """

    def __init__(self, *, layout: bool = True, schedule: bool = False) -> None:
        self._layout, self._schedule = layout, schedule
        # Keeps the computation alive, so that no other one can get its address, which is the key.
        self._found: dict[tuple[int, tuple[str, ...]], tuple[Computation, Content]] = {}
        self._equal: dict[Hashable, Content] = {}
        self._labels: dict[Labelled, bytes] = {}

    def forget_computations(self) -> None:
        """Keep contents but release all computations, for processing many programs one after another."""
        self._found.clear()

    def of(self, owner: Computation, callee_hash: Callable[[int], str]) -> Content:
        """The content of a computation.

        Args:
            owner: the computation.
            callee_hash: the hash of each computation that it calls, by index.
        """
        key = id(owner), tuple([callee_hash(callee) for _, it in owner.calling for callee in it.called])
        known = self._found.get(key)
        if known is not None:
            return known[1]
        layout = self._layout
        named: list[bytes] = []
        for it in owner.instructions:
            if it.calls:
                called = [part for name, group in it.calls for part in (name, *map(callee_hash, group))]
                named.append(_label(it, called, layout))
                continue
            shape = it.shape if layout else it.shape.bare
            alone = it.opcode, shape.text, it.literal, it.attributes
            label = self._labels.get(alone)
            if label is None:
                label = self._labels[alone] = _label(it, (), layout)
            named.append(label)
        labels = tuple(named)
        operands = tuple([it.operands for it in owner.instructions])
        results = tuple([it.results for it in owner.instructions])
        control = tuple([it.control_predecessors for it in owner.instructions]) if self._schedule else ()
        held = owner.root, owner.execution_thread, owner.attributes, labels, operands, results, control
        found = self._equal.get(held)
        if found is None:
            found = self._equal[held] = _content(owner, labels, self._schedule)
        self._found[key] = owner, found
        return found


def contents(
    module: Module, *, layout: bool = True, schedule: bool = False, known: KnownContents | None = None
) -> tuple[Content, ...]:
    """The content of every computation, including its callees.

    Args:
        module: any module; normalize it first if noise must not change the hashes.
        layout: False ignores layouts, tilings and memory spaces.
        schedule: True adds the printed order and control predecessors.
        known: contents of other modules with the same computations; its layout and schedule then apply.

    Returns:
        One Content per computation, in module order.
    """
    known = known or KnownContents(layout=layout, schedule=schedule)
    found: dict[int, Content] = {}
    hashes = dict.fromkeys(range(len(module.computations)), "cycle")
    for index in callees_first(module):
        found[index] = known.of(module.computations[index], hashes.__getitem__)
        hashes[index] = found[index].hash
    return tuple(found[index] for index in range(len(module.computations)))


def computation_hashes(
    module: Module,
    *,
    layout: bool = True,
    only: Iterable[int] | None = None,
    known: KnownContents | None = None,
) -> tuple[str, ...]:
    """The hash of every computation, in module order; see `contents`.

    Args:
        module, layout, known: as for `contents`.
        only: indices of the requested computations, whose callees are added; the others get "".
    """
    if only is None:
        return tuple(content.hash for content in contents(module, layout=layout, known=known))
    found = contents_of(module, only, known or KnownContents(layout=layout))
    return tuple(found[index].hash if index in found else "" for index in range(len(module.computations)))


def contents_of(module: Module, only: Iterable[int], known: KnownContents) -> dict[int, Content]:
    """The content of the computations with these indices and of everything they call; `known` as for `contents`."""
    wanted = with_callees(module, only)
    hashes = dict.fromkeys(wanted, "cycle")
    found: dict[int, Content] = {}
    for index in callees_first(module):
        if index in wanted:
            found[index] = known.of(module.computations[index], hashes.__getitem__)
            hashes[index] = found[index].hash
    return found


def with_callees(module: Module, indices: Iterable[int]) -> dict[int, None]:
    """The computations with these indices and everything they call."""
    return dict.fromkeys(preorder(indices, lambda index: module.computations[index].callees))


_Hashes = Sequence[str] | Mapping[int, str]


def renumbered_hash(computation: Computation, hashes: _Hashes, renumber: Sequence[int]) -> str:
    """The hash of a computation with its parameters renumbered; see `renumbered`."""
    return renumbered(computation, hashes, renumber).hash


def renumbered(computation: Computation, hashes: _Hashes, renumber: Sequence[int]) -> Content:
    """The content of a computation with its parameters renumbered.

    Args:
        computation: the computation.
        hashes: `computation_hashes` of its module, for its callees.
        renumber: the new number of each parameter by its old one.
    """
    changed = list(computation.instructions)
    for n, position in enumerate(computation.parameters):
        changed[position] = replace(changed[position], literal=str(renumber[n]))
    return KnownContents().of(replace(computation, instructions=tuple(changed)), hashes.__getitem__)


def idle_parameters(computation: Computation) -> list[int]:
    """Numbers of parameters that are neither read nor returned."""
    used = {computation.root, *(o for it in computation.instructions for o in it.operands)}
    return [n for n, position in enumerate(computation.parameters) if position not in used]


def program_fingerprint(module: Module, *, layout: bool = True) -> str:
    """Hash of the program: computations reachable from the entry and the header, without names, order or schedule.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> one = read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[2]{0} parameter(0)\\n}")
        >>> two = read_hlo("HloModule n\\nENTRY main {\\n  ROOT q = f32[2]{0} parameter(0)\\n}")
        >>> program_fingerprint(one) == program_fingerprint(two)
        True
    """
    hashes = computation_hashes(module, layout=layout)
    header = sorted(f"{k}={v}" for k, v in module.attributes if layout or k not in _LAYOUT_ATTRIBUTES)
    others = sorted(hashes[n] for n in without_callers(module))
    return digest(text.encode() for text in (module.stage, hashes[module.entry], *header, "", *others)).hex()


def _content(owner: Computation, labels: tuple[bytes, ...], schedule: bool) -> Content:
    operand_hashes = _operand_hashes(owner, labels)
    order = _canonical_order(owner, operand_hashes)
    number = {position: n for n, position in enumerate(order)}
    head = [owner.execution_thread.encode(), repr(sorted(owner.attributes)).encode(), _int(number[owner.root])]
    # The same as `digest`, because the length of each part is known here.
    parts = [piece for part in head for piece in (_int(len(part)), part)]
    of_label, of_number, of_operand, plain = _SMALL[_SIZE], _SMALL[4], _SMALL[8], _SMALL[0]
    for position in order:
        it = owner.instructions[position]
        parts += of_label, labels[position]
        if it.results or (len(it.operands) == 2 and is_commutative(it)):
            pairs = list(it.reads)
            if is_commutative(it):
                pairs.sort(key=lambda pair: (operand_hashes[pair[0]], pair[1], number[pair[0]]))
            for operand, result in pairs:
                parts += of_operand, _int(number[operand]), _int(result)
        else:
            for operand in it.operands:
                parts += of_operand, _int(number[operand]), plain
        if schedule:
            for one in (position, *[number[p] for p in sorted(it.control_predecessors)]):
                parts += of_number, _int(one)
    return Content(blake2b(b"".join(parts), digest_size=_SIZE).hexdigest(), labels, operand_hashes, order)


_SMALL = tuple(number.to_bytes(4, "little") for number in range(4096))


def _int(number: int) -> bytes:
    return _SMALL[number] if number < 4096 else number.to_bytes(4, "little")


def _label(it: Instruction, called: Iterable[str], layout: bool) -> bytes:
    parts = [it.opcode, (it.shape if layout else it.shape.bare).text, it.literal or ""]
    if it.attributes:
        parts += sorted(f"{k}={v}" for k, v in it.attributes if layout or k not in _LAYOUT_ATTRIBUTES)
    parts += called
    return digest([part.encode("utf-8", "surrogatepass") for part in parts])


def _operand_hashes(owner: Computation, labels: Sequence[bytes]) -> tuple[bytes, ...]:
    hashes: list[bytes] = [b""] * len(labels)
    length = _SMALL[_SIZE]
    for position in operands_first(owner):
        it = owner.instructions[position]
        if not it.operands:
            hashes[position] = labels[position]
            continue
        operands = [hashes[o] for o in it.operands]
        if it.results:
            operands = [d + _int(r) for d, r in zip(operands, it.results, strict=True)]
        if len(operands) == 2 and is_commutative(it):
            operands.sort()
        parts = [labels[position], *operands]
        if it.results:
            hashes[position] = digest(parts)
        else:  # equivalent, because each part is a digest itself
            hashes[position] = blake2b(length + length.join(parts), digest_size=_SIZE).digest()
    return tuple(hashes)


def _canonical_order(owner: Computation, operand_hashes: Sequence[bytes]) -> tuple[int, ...]:
    """Depth-first post-order along operands: parameters by number, the root's tree, then the other sinks by content."""
    if len(operand_hashes) == 1:
        return (0,)
    neighbourhoods: list[
        tuple[bytes, ...]
    ] = []  # computed only if operand hashes leave a tie, which is rare, because they cost the most

    def neighbourhood(position: int) -> bytes:
        if not neighbourhoods:
            neighbourhoods.append(neighbourhood_hashes(owner, operand_hashes))
        return neighbourhoods[0][position]

    used = {operand for it in owner.instructions for operand in it.operands}
    sinks = [n for n in range(len(owner.instructions)) if n not in used and n != owner.root]
    if len(sinks) > 1:
        sinks.sort(key=lambda n: (neighbourhood(n), n))

    def operands(position: int) -> Sequence[int]:
        it = owner.instructions[position]
        if len(it.operands) == 2 and it.operands[0] != it.operands[1] and is_commutative(it):
            one, other = it.operands
            first, second = operand_hashes[one], operand_hashes[other]
            if first == second:
                first, second = neighbourhood(one), neighbourhood(other)
            return it.operands if (first, one) <= (second, other) else (other, one)
        return it.operands

    starts = (owner.root, *sinks, *range(len(operand_hashes)))
    return tuple(postorder(starts, operands, before=owner.parameters))


def neighbourhood_hashes(owner: Computation, operand_hashes: Sequence[bytes]) -> tuple[bytes, ...]:
    """For each instruction a hash of its inputs and of all its users, with operand positions."""
    hashes: list[bytes] = [b""] * len(operand_hashes)
    uses: list[list[tuple[int, int]]] = [[] for _ in operand_hashes]
    for position, it in enumerate(owner.instructions):
        slots: Sequence[int] = (0,) * len(it.operands) if is_commutative(it) else range(len(it.operands))
        for slot, operand in zip(slots, it.operands, strict=True):
            uses[operand].append((position, slot))
    for position in reversed(operands_first(owner)):
        root = b"r" if position == owner.root else b""
        hashes[position] = digest(
            [operand_hashes[position], root, *sorted(hashes[u] + _int(s) for u, s in uses[position])]
        )
    return tuple(hashes)
