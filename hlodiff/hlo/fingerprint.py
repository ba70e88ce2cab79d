"""Content hashes of instructions and computations, which do not see names or the printed order.

A computation's hash is taken over a canonical walk: from the root (then from every other instruction that nothing
uses) along operands in order, numbering instructions at their first visit. An instruction used twice has one number,
so sharing is seen, which a bottom-up (Merkle) hash alone cannot: add(add(c,c),add(c,c)) with one c and with four
equal ones differ. Operands of commutative operations are visited in an order that content decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b

from hlodiff.hlo.grammar import print_shape
from hlodiff.hlo.model import Computation, Instruction, Module, Shape, callees_first
from hlodiff.hlo.traversal import postorder, preorder

COMMUTATIVE = frozenset(["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
# Header and instruction attributes that only describe layouts: not hashed where layouts are not.
_LAYOUT_ATTRIBUTES = frozenset(["entry_computation_layout", "operand_layout_constraints", "operand_layouts"])


def is_commutative(instruction: Instruction) -> bool:
    """True where swapping the two operands means nothing: add, multiply, and, or, xor, maximum, minimum, EQ, NE."""
    if len(instruction.operands) != 2:
        return False
    if instruction.opcode == "compare":
        direction = instruction.attribute("direction") or instruction.attribute("comparison_direction") or ""
        return is_commutative_opcode("compare", direction)
    return instruction.opcode in COMMUTATIVE


def is_commutative_opcode(opcode: str, direction: str) -> bool:
    """The same for an instruction with two operands.

    Args:
        opcode: of either stage.
        direction: of a comparison: `EQ`, or `#stablehlo<comparison_direction EQ>`.
    """
    if opcode == "compare":
        return direction.rstrip(">").endswith(("EQ", "NE"))
    return opcode in COMMUTATIVE


@dataclass(frozen=True, slots=True)
class Content:
    """Hashes of one computation; tuples are indexed like its instructions.

    Args:
        hash: of the whole computation.
        labels: of each instruction alone with what it calls: opcode, shape, attributes, literal.
        operand_hashes: label and everything it is computed from, bottom-up (Merkle), so without sharing.
        order: a legal order, operands first, that content alone decides.
    """

    hash: str
    labels: tuple[bytes, ...]
    operand_hashes: tuple[bytes, ...]
    order: tuple[int, ...]


def digest(parts: Iterable[bytes]) -> bytes:
    """16 bytes over the parts, each with its length so that ("ab","c") and ("a","bc") differ."""
    parts = list(parts)
    try:
        whole = [piece for part in parts for piece in (_SMALL[len(part)], part)]
    except IndexError:
        whole = [piece for part in parts for piece in (_int(len(part)), part)]
    return blake2b(b"".join(whole), digest_size=16).digest()


class KnownContents:
    """Contents by computation (the object itself) and what it calls: passes leave most computations as they are."""

    def __init__(self) -> None:
        # The computation is kept so that no other one can get its place in memory, which is the key.
        self._found: dict[tuple[int, tuple[str, ...]], tuple[Computation, Content]] = {}

    def of(self, owner: Computation, callee_hash: Callable[[int], str]) -> Content:
        """The content with layouts and without the schedule, worked out at the first call."""
        key = id(owner), tuple([callee_hash(callee) for it in owner.instructions if it.calls for callee in it.called])
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = owner, _content(owner, callee_hash, True, False)
        return known[1]


def contents(
    module: Module, *, layout: bool = True, schedule: bool = False, known: KnownContents | None = None
) -> tuple[Content, ...]:
    """Content of every computation, callees included in their callers.

    Args:
        module: any module; normalize it first if noise must not change the hashes.
        layout: False ignores layouts, tilings and memory spaces.
        schedule: True adds the printed order and control predecessors.
        known: of other modules that hold the same computations; only with layouts and without the schedule.

    Returns:
        One Content for each computation, in the module's order.
    """
    found: dict[int, Content] = {}

    def callee_hash(callee: int) -> str:
        return found[callee].hash if callee in found else "cycle"

    for index in callees_first(module):
        owner = module.computations[index]
        found[index] = known.of(owner, callee_hash) if known else _content(owner, callee_hash, layout, schedule)
    return tuple(found[index] for index in range(len(module.computations)))


def computation_hashes(
    module: Module,
    *,
    layout: bool = True,
    schedule: bool = False,
    only: Iterable[int] | None = None,
    known: KnownContents | None = None,
) -> tuple[str, ...]:
    """The hash of every computation, in the module's order; see `contents`.

    Args:
        module, layout, schedule, known: as for `contents`.
        only: indices of those that are wanted, callees are added; the others get "".
    """
    if only is None:
        return tuple(content.hash for content in contents(module, layout=layout, schedule=schedule, known=known))
    wanted = with_callees(module, only)
    found: dict[int, str] = {}

    def callee_hash(callee: int) -> str:
        return found.get(callee, "cycle")

    for index in callees_first(module):
        if index in wanted:
            owner = module.computations[index]
            content = known.of(owner, callee_hash) if known else _content(owner, callee_hash, layout, schedule)
            found[index] = content.hash
    return tuple(found.get(index, "") for index in range(len(module.computations)))


def with_callees(module: Module, indices: Iterable[int]) -> dict[int, None]:
    """Computations of these indices and all that they call."""

    def callees(index: int) -> Iterator[int]:
        return (c for it in module.computations[index].instructions if it.calls for c in it.called)

    return dict.fromkeys(preorder(indices, callees))


_Hashes = Sequence[str] | Mapping[int, str]


def renumbered_hash(computation: Computation, hashes: _Hashes, renumber: Sequence[int]) -> str:
    """The hash that a computation would have if its parameters had other numbers; see `renumbered`."""
    return renumbered(computation, hashes, renumber).hash


def renumbered(computation: Computation, hashes: _Hashes, renumber: Sequence[int]) -> Content:
    """The content that a computation would have if its parameters had other numbers.

    Args:
        computation: the computation.
        hashes: `computation_hashes` of its module, for what it calls.
        renumber: the new number of each parameter by its old one.
    """
    changed = list(computation.instructions)
    for n, position in enumerate(computation.parameters()):
        changed[position] = replace(changed[position], literal=str(renumber[n]))
    return _content(replace(computation, instructions=tuple(changed)), hashes.__getitem__, True, False)


def idle_parameters(computation: Computation) -> list[int]:
    """Numbers of the parameters that nothing reads and that are not returned."""
    used = {computation.root, *(o for it in computation.instructions for o in it.operands)}
    return [n for n, position in enumerate(computation.parameters()) if position not in used]


def fingerprint(module: Module, *, layout: bool = True) -> str:
    """Hash of the program itself: computations reached from the entry and the header, not names, order or schedule.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> one = read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[2]{0} parameter(0)\\n}")
        >>> two = read_hlo("HloModule n\\nENTRY main {\\n  ROOT q = f32[2]{0} parameter(0)\\n}")
        >>> fingerprint(one) == fingerprint(two)
        True
    """
    hashes = computation_hashes(module, layout=layout)
    header = sorted(f"{k}={v}" for k, v in module.attributes if layout or k not in _LAYOUT_ATTRIBUTES)
    others = sorted(hashes[n] for n in _uncalled(module))
    return digest(text.encode() for text in (module.stage, hashes[module.entry], *header, "", *others)).hex()


def _uncalled(module: Module) -> list[int]:
    called = {c for computation in module.computations for it in computation.instructions for c in it.called}
    return [n for n in range(len(module.computations)) if n not in called and n != module.entry]


def _content(owner: Computation, callee_hash: Callable[[int], str], layout: bool, schedule: bool) -> Content:
    labels = tuple(_label(it, callee_hash, layout) for it in owner.instructions)
    operand_hashes = _operand_hashes(owner, labels)
    order = _canonical_order(owner, operand_hashes)
    number = {position: n for n, position in enumerate(order)}
    plain = _int(0)
    parts = [owner.execution_thread.encode(), repr(sorted(owner.attributes)).encode(), _int(number[owner.root])]
    for position in order:
        it = owner.instructions[position]
        parts.append(labels[position])
        if it.results or is_commutative(it):
            parts += [_int(number[o]) + _int(r) for o, r in _ordered_operands(it, operand_hashes, number)]
        else:
            parts += [_int(number[o]) + plain for o in it.operands]
        if schedule:
            parts.append(_int(position))
            parts.extend(_int(number[p]) for p in sorted(it.control_predecessors))
    return Content(digest(parts).hex(), labels, operand_hashes, order)


_SMALL = tuple(number.to_bytes(4, "little") for number in range(4096))


def _int(number: int) -> bytes:
    return _SMALL[number] if number < 4096 else number.to_bytes(4, "little")


def _ordered_operands(
    it: Instruction, operand_hashes: Sequence[bytes], number: dict[int, int]
) -> list[tuple[int, int]]:
    results = it.results or (0,) * len(it.operands)
    pairs = list(zip(it.operands, results, strict=True))
    if is_commutative(it):
        pairs.sort(key=lambda pair: (operand_hashes[pair[0]], pair[1], number[pair[0]]))
    return pairs


def _label(it: Instruction, callee_hash: Callable[[int], str], layout: bool) -> bytes:
    parts = [it.opcode, shape_text(it.shape, layout), it.literal or ""]
    if it.attributes:
        parts += sorted(f"{k}={v}" for k, v in it.attributes if layout or k not in _LAYOUT_ATTRIBUTES)
    for name, group in it.calls:
        parts.append(name)
        parts.extend(callee_hash(callee) for callee in group)
    return digest([part.encode("utf-8", "surrogatepass") for part in parts])


@lru_cache(maxsize=100_000)
def shape_text(shape: Shape, layout: bool = True) -> str:
    """The shape as printed, with or without layouts."""
    return print_shape(shape if layout else without_layout(shape))


def without_layout(shape: Shape) -> Shape:
    """The same shape, without layouts at any depth."""
    parts = tuple(without_layout(part) for part in shape.tuple_shapes)
    return replace(shape, layout=None, tuple_shapes=parts)


def _operand_hashes(owner: Computation, labels: Sequence[bytes]) -> tuple[bytes, ...]:
    hashes: list[bytes] = [b""] * len(labels)
    for position in operands_first(owner):
        it = owner.instructions[position]
        operands = [hashes[o] for o in it.operands]
        if it.results:
            operands = [d + _int(r) for d, r in zip(operands, it.results, strict=True)]
        if is_commutative(it):
            operands.sort()
        hashes[position] = digest([labels[position], *operands]) if operands else labels[position]
    return tuple(hashes)


def operands_first(owner: Computation) -> list[int]:
    """Positions in topological order, operands before users; the printed order if it already is one."""
    instructions = owner.instructions
    if all(o < n for n, it in enumerate(instructions) for o in it.operands):
        return list(range(len(instructions)))
    return postorder(range(len(instructions)), lambda n: instructions[n].operands)


def _canonical_order(owner: Computation, operand_hashes: Sequence[bytes]) -> tuple[int, ...]:
    """Depth-first post-order along operands: parameters by number, the root's tree, then the other sinks by content."""
    if len(operand_hashes) == 1:
        return (0,)
    neighbourhoods = _Neighbourhoods(owner, operand_hashes)
    sinks = _sinks(owner)
    if len(sinks) > 1:
        sinks.sort(key=lambda n: (neighbourhoods.of(n), n))

    def operands(position: int) -> Sequence[int]:
        it = owner.instructions[position]
        if len(it.operands) == 2 and it.operands[0] != it.operands[1] and is_commutative(it):
            return neighbourhoods.sorted(*it.operands)
        return it.operands

    starts = (owner.root, *sinks, *range(len(operand_hashes)))
    return tuple(postorder(starts, operands, before=owner.parameters()))


def _sinks(owner: Computation) -> list[int]:
    """Instructions without users, except the root."""
    used = {operand for it in owner.instructions for operand in it.operands}
    return [n for n in range(len(owner.instructions)) if n not in used and n != owner.root]


class _Neighbourhoods:
    """`neighbourhood_hashes`, computed only if operand hashes leave a tie: that is rare, and they cost the most."""

    def __init__(self, owner: Computation, operand_hashes: Sequence[bytes]) -> None:
        self._owner, self._operand_hashes = owner, operand_hashes
        self._found: tuple[bytes, ...] | None = None

    def of(self, position: int) -> bytes:
        if self._found is None:
            self._found = neighbourhood_hashes(self._owner, self._operand_hashes)
        return self._found[position]

    def sorted(self, one: int, other: int) -> tuple[int, int]:
        """The two operands of a commutative operation, in an order that content decides."""
        first, second = self._operand_hashes[one], self._operand_hashes[other]
        if first == second:
            first, second = self.of(one), self.of(other)
        return (one, other) if (first, one) <= (second, other) else (other, one)


def neighbourhood_hashes(owner: Computation, operand_hashes: Sequence[bytes]) -> tuple[bytes, ...]:
    """For each instruction a hash of what it is computed from and of all its users, with operand positions."""
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
