"""Names and channel and callback numbers derived from content instead of a module-wide counter.

Editing one instruction then changes a handful of lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

from hlodiff.hlo.fingerprint import Content, KnownContents, contents_of
from hlodiff.hlo.model import (
    Computation,
    Instruction,
    Module,
    Shape,
    computation_kind,
    is_commutative,
    map_instructions,
    with_attribute,
    with_computations,
    with_instructions,
    with_literal,
)
from hlodiff.hlo.traversal import call_sites
from hlodiff.normalizer.backend_config import holds_pointer, is_callback
from hlodiff.normalizer.ordering import legal_order
from hlodiff.normalizer.stablehlo import text_order

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without l, o, 0, 1: easy to confuse when names are copied by eye


def names(module: Module) -> tuple[Module, int]:
    """Rename computations and instructions."""
    # The entry is `main`; others are named after their callers, their root and their parameter types.
    names, titles = _UniqueNames(), []
    for index, (computation, sites) in enumerate(zip(module.computations, call_sites(module), strict=True)):
        if index == module.entry:
            titles.append(names.give("main"))
            continue
        callers = [(module.computations[c].instructions[p].opcode, name) for c, p, name in sites]
        kind = min((computation_kind(*caller) for caller in callers), default="unused")
        root = computation.instructions[computation.root]
        signature = sorted(_sizes(computation.instructions[p].shape) for p in computation.parameters)
        titles.append(names.give(f"{kind}_{root.opcode}.{short(','.join([*signature, _sizes(root.shape)]))}"))
    changed = 0
    computations = []
    for index, computation in enumerate(module.computations):
        inside = instruction_names(computation)
        same = titles[index] == computation.name and all(
            it.name == name for it, name in zip(computation.instructions, inside, strict=True)
        )
        changed += not same
        computations.append(computation if same else _named(computation, titles[index], inside))
    if not changed:
        return module, 0
    named = Module(module.name, module.stage, tuple(computations), module.entry, module.attributes, module.frames)
    return named, changed


def _named(computation: Computation, title: str, inside: Sequence[str]) -> Computation:
    instructions = [
        Instruction(
            name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
            it.literal, it.op_name, it.frame, it.metadata, it.line,
        )
        for it, name in zip(computation.instructions, inside, strict=True)
    ]  # fmt: skip
    return Computation(
        title, tuple(instructions), computation.root, computation.execution_thread, computation.attributes,
        computation.line,
    )  # fmt: skip


# Frequent opcodes. All others are landmarks: the instructions after one are named after it, so an edit shifts the count
# of equal instructions only up to the next landmark. Measured: lines that `diff` adds and removes, seven kinds of
# single edits (literal, opcode, insert, delete, layout, shape, operand swap) in 26 programs of three backends, few
# edits of each kind in each. Median and mean: counting equals by opcode and operand opcodes 5 and 10.6; widening the
# context until it is unique 6 and 10.6; sections cut by hash 3 and 9.5; landmarks by opcode 3 and 7.7; by opcode and
# shape 4 and 8.5. A fusion inserted on an edge of the entry decided: 54 lines in the median by opcode, 19 by opcode and
# shape, 9 with the shapes of operands. With these the result is 4 and 12.8 (about 350 edits): literal, layout 2, insert
# and shape 6, opcode 8, swap 12, delete 15. Where the edit hits one of several equal computations, which are stored
# once, the edited one is printed in full: 8 and 20.5.
_COMMON = frozenset(
    ["add", "and", "bitcast", "broadcast", "compare", "constant", "convert", "copy", "copy-done", "copy-start",
     "divide", "get-tuple-element", "maximum", "minimum", "multiply", "negate", "or", "parameter", "reshape", "select",
     "slice", "subtract", "transpose", "tuple", "xor"]
)  # fmt: skip
# Operands looked at: the tuple of a large loop has thousands.
_WIDTH = 8


def instruction_names(computation: Computation) -> list[str]:
    """A name for each instruction: parameters by number, others by opcode, landmark and a count of equals.

    Instructions are counted in an order decided by content, scheduled or not.
    """
    found = [""] * len(computation.instructions)
    seen: dict[str, int] = {}
    names = _UniqueNames()
    landmark = ""
    for position in legal_order(computation):
        it = computation.instructions[position]
        if it.opcode == "parameter":
            found[position] = names.give(f"p{it.literal}")
            continue
        if it.opcode not in _COMMON:
            kind = " ".join([it.opcode, *(_sizes(one.shape) for one in (it, *_operands(computation, it)))])
            seen[kind] = seen.get(kind, 0) + 1
            landmark = f"{kind} {seen[kind]}"
        found[position] = names.give(f"{it.opcode}.{short(f'{landmark} {_own(computation, it)}')}")
    return found


def _operands(computation: Computation, it: Instruction) -> list[Instruction]:
    return [computation.instructions[operand] for operand in it.operands[:_WIDTH]]


def _own(computation: Computation, it: Instruction) -> str:
    """What distinguishes an instruction from its neighbours: dimensions, index, and the parameters it uses."""
    marks = [f"{key}={value}" for key, value in it.attributes if key in ("dimensions", "index", "slice", "direction")]
    numbers = [other.literal or "" for other in _operands(computation, it) if other.opcode == "parameter"]
    return " ".join([*marks, *(sorted(numbers) if is_commutative(it) else numbers)])


class _UniqueNames:
    """Gives each name once: `a`, `a.2`, `a.3`."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.last: dict[str, int] = {}

    def give(self, base: str) -> str:
        number = self.last.get(base, 0) + 1
        name = base if number == 1 else f"{base}.{number}"
        while name in self.used:
            number += 1
            name = f"{base}.{number}"
        self.last[base] = number
        self.used.add(name)
        return name


@lru_cache(maxsize=65536)
def short(text: str, length: int = 4) -> str:
    """A few letters derived from a hash of the text."""
    number = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    letters = []
    for _ in range(length):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)


@lru_cache(maxsize=65536)
def _sizes(shape: Shape) -> str:
    return ";".join(f"{leaf.element_type}{list(leaf.dimensions)}" for leaf in shape.leaves)


# --- Numbers that only say which instructions belong together: channels, host rendezvous, callbacks.
#
# The number itself depends on what was compiled before; which instructions share it is the program. So groups of
# partners get new numbers, and those come from the content of the members, not from a module-wide counter: an added
# collective does not renumber the others.

_RENDEZVOUS = re.compile(r'(_xla_host_transfer_rendezvous=")(\d{1,20})(")')
_CALLBACK = re.compile(r"(\bindex = )(\d{1,20})( : u?i64)")
# Four digits are easy to compare by eye and give a few thousand channels few collisions.
_SPREAD = 9000
_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class NumberKind:
    """A kind of number in an attribute.

    Args:
        attribute: the attribute that holds it.
        pattern: three groups: before, the number, after.
        applies: which instructions can hold one.
        counted: number groups 0, 1, 2 instead of by content, for numbers that people read.
    """

    attribute: str
    pattern: re.Pattern[str]
    applies: Callable[[Instruction], bool]
    counted: bool = False


CHANNEL = NumberKind("channel_id", re.compile(r"()(\d+)()"), lambda it: True)
RENDEZVOUS = NumberKind("frontend_attributes", _RENDEZVOUS, lambda it: it.opcode.startswith(("send", "recv")))
CALLBACK = NumberKind("backend_config", _CALLBACK, is_callback, True)
_NUMBERED = frozenset(kind.attribute for kind in (CHANNEL, RENDEZVOUS, CALLBACK))


def channel_ids(module: Module, known: KnownContents | None = None) -> tuple[Module, int]:
    """Number channels by the content of the instructions that share them.

    Args:
        module: the program.
        known: contents already computed for computations of this or another program.
    """
    unnumbered = _ContentsWithoutNumbers(module, known)
    module, count = _renumber(module, CHANNEL, unnumbered)
    module, more = _renumber(module, RENDEZVOUS, unnumbered)
    return module, count + more


def callback_numbers(module: Module, known: KnownContents | None = None) -> tuple[Module, int]:
    """Count Python callbacks 0, 1, 2 in an order decided by content; `known` as for `channel_ids`."""
    return _renumber(module, CALLBACK, _ContentsWithoutNumbers(module, known))


class _ContentsWithoutNumbers:
    """Contents of a program's computations without channel, rendezvous and callback numbers."""

    def __init__(self, module: Module, known: KnownContents | None) -> None:
        self._module, self._known = module, known or KnownContents()

    @cached_property
    def _unnumbered(self) -> Module:
        """Made on first access: most programs have no two equal groups."""
        return map_instructions(self._module, _anonymous, with_attributes=True)[0]

    def of(self, indices: Iterable[int]) -> Mapping[int, Content]:
        """The contents of these computations."""
        return contents_of(self._unnumbered, indices, self._known)


def _renumber(module: Module, kind: NumberKind, unnumbered: _ContentsWithoutNumbers) -> tuple[Module, int]:
    groups: dict[int, list[_Place]] = {}
    wanted, search = kind.attribute, kind.pattern.search
    for index, computation in enumerate(module.computations):
        held = computation.instructions if wanted in computation.attribute_names else ()
        for position, it in enumerate(held):
            for key, value in it.attributes:  # most lack it, and a call for each would take the most time
                if key == wanted:
                    match = search(value) if kind.applies(it) else None
                    if match:
                        groups.setdefault(int(match.group(2)), []).append((index, position))
                    break
    if not groups:
        return module, 0
    new = _new_numbers(module, kind, groups, unnumbered)
    places = {place: str(new[number]) for number, members in groups.items() for place in members}
    count = 0
    computations = list(module.computations)
    inside = {index: list(computations[index].instructions) for index in dict.fromkeys(index for index, _ in places)}
    for (index, position), number in places.items():
        it = inside[index][position]
        old = it.attribute(kind.attribute) or ""
        match = kind.pattern.search(old)
        if match is not None and match.group(2) != number:
            value = old[: match.start(2)] + number + old[match.end(2) :]
            inside[index][position] = with_attribute(it, kind.attribute, value)
            count += 1
    for index, instructions in inside.items():
        computations[index] = with_instructions(computations[index], instructions)
    return (with_computations(module, computations), count) if count else (module, 0)


def _new_numbers(
    module: Module, kind: NumberKind, groups: dict[int, list[_Place]], unnumbered: _ContentsWithoutNumbers
) -> dict[int, int]:
    # The members' own texts, sorted: the hash decides the number.
    keys = {
        number: tuple(sorted(_own_number(module, place) for place in members)) for number, members in groups.items()
    }
    exact: dict[int, Any] = dict(keys)
    # Only groups with equal keys, and counted groups if there are several, need their place in the program.
    if len(groups) > 1 and (kind.counted or len(set(keys.values())) < len(keys)):
        where = _instances(unnumbered, groups)
        exact = {number: (where[number] if kind.counted else (keys[number], where[number])) for number in groups}
    order = sorted(groups, key=exact.__getitem__)
    given: dict[Any, int] = {}
    free: dict[int, int] = {}  # where to search next: thousands of equal groups start at the same number
    used: set[int] = set()
    for number in order:
        if exact[number] in given:
            continue  # the same group in two equal computations, which a later pass merges
        hashed = blake2b(keys[number][0].encode(), digest_size=8).digest()
        base = 0 if kind.counted else 1 + int.from_bytes(hashed[:4], "big") % _SPREAD
        candidate = free.get(base, base)
        while candidate in used:
            candidate += 1
        free[base] = candidate + 1
        used.add(candidate)
        given[exact[number]] = candidate
    return {number: given[exact[number]] for number in groups}


def _own_number(module: Module, place: _Place) -> str:
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    operands = ",".join(computation.instructions[o].opcode for o in it.operands)
    rest = [f"{k}={v}" for k, v in _anonymous(it).attributes]
    return f"{it.opcode}({operands}) {it.shape.text} {' '.join(rest)}"


def _anonymous(it: Instruction) -> Instruction:
    """The instruction without any number of any kind, so that no kind depends on another."""
    for key, _ in it.attributes:
        if key in _NUMBERED:
            break
    else:
        return it
    for kind in (CHANNEL, RENDEZVOUS, CALLBACK):
        value = it.attribute(kind.attribute) if it.attributes else None
        if value is not None and kind.applies(it):
            it = with_attribute(it, kind.attribute, kind.pattern.sub(r"\1\3", value, count=1))
    return it


def _instances(
    unnumbered: _ContentsWithoutNumbers, groups: dict[int, list[_Place]]
) -> dict[int, tuple[tuple[str, int], ...]]:
    """Where the members are: the computation's content hash without numbers, and the canonical position."""
    holders = dict.fromkeys(index for members in groups.values() for index, _ in members)
    found = unnumbered.of(holders)
    positions = {index: {position: n for n, position in enumerate(found[index].order)} for index in holders}
    return {
        number: tuple(sorted({(found[index].hash, positions[index][position]) for index, position in members}))
        for number, members in groups.items()
    }


_INDEX = re.compile(r"(\b(?:index|descriptor|keep_alive|callback_id) = )(\d{1,20})( : (?:ui?64|i64))")
_LOWERED_RENDEZVOUS = re.compile(r'(_xla_host_transfer_rendezvous = ")(\d{1,20})(")')
_POINTER = re.compile(r'"\d+"')


def number_callbacks(module: Module) -> tuple[Module, int]:
    """Number the host callbacks of a program in the order in which they appear, from 0.

    JAX takes the number from a list that one process shares between all programs.
    """
    numbers: dict[str, int] = {}
    for computation, position in text_order(module):
        it = module.computations[computation].instructions[position]
        if is_callback(it):
            for found in _INDEX.finditer(it.attribute("mhlo.backend_config") or ""):
                numbers.setdefault(found[2], len(numbers))

    def renumber(it: Instruction) -> Instruction:
        config = it.attribute("mhlo.backend_config")
        if config is None or not is_callback(it):
            return it
        new = _INDEX.sub(lambda found: f"{found[1]}{numbers[found[2]]}{found[3]}", config)
        return it if new == config else with_attribute(it, "mhlo.backend_config", new)

    return map_instructions(module, renumber)


def without_own_numbers(module: Module) -> Module:
    """The same without numbers of callbacks and host rendezvous that one instruction alone has.

    They count what came before in the program: where a callback was added or removed, all later ones get others.
    """
    config = "mhlo.backend_config" if module.stage == "stablehlo" else "backend_config"
    present = {name for computation in module.computations for name in computation.attribute_names}
    if config in present:
        module = _without_own(module, is_callback, config, _INDEX)
    if "mhlo.frontend_attributes" in present:
        module = _without_own(module, RENDEZVOUS.applies, "mhlo.frontend_attributes", _LOWERED_RENDEZVOUS)
    return module


def _without_own(
    module: Module, applies: Callable[[Instruction], bool], attribute: str, pattern: re.Pattern[str]
) -> Module:
    held = [computation for computation in module.computations if attribute in computation.attribute_names]
    texts = [it.attribute(attribute) or "" for computation in held for it in computation.instructions if applies(it)]
    times = Counter(number for text in texts for number in {found[2] for found in pattern.finditer(text)})
    numbers = {number: n for n, number in enumerate((one for one, count in times.items() if count > 1), 1)}

    def renumber(it: Instruction) -> Instruction:
        value = it.attribute(attribute) if applies(it) else None
        new = pattern.sub(lambda found: f"{found[1]}{numbers.get(found[2], 0)}{found[3]}", value or "")
        return with_attribute(it, attribute, new) if value is not None and new != value else it

    return map_instructions(module, renumber, holding=attribute)[0] if times else module


def replace_pointers(module: Module) -> tuple[Module, int]:
    """Replace addresses of Python objects by 0: in backend configurations and in the operand that older JAX used."""
    module, count = map_instructions(module, _without_pointer)
    changed = [_without_pointer_operand(computation) for computation in module.computations]
    found = sum(n for _, n in changed)
    return (with_computations(module, [c for c, _ in changed]), count + found) if found else (module, count)


def _without_pointer(it: Instruction) -> Instruction:
    config = it.attribute("backend_config") or ""
    if not holds_pointer(it) or not _POINTER.fullmatch(config) or config == '"0"':
        return it
    return with_attribute(it, "backend_config", '"0"')


def _without_pointer_operand(computation: Computation) -> tuple[Computation, int]:
    """Drop the callback's address, which JAX before 0.6 passes as a scalar constant in the first operand."""
    pointers = {
        it.operands[0]
        for it in computation.instructions
        if is_callback(it) and it.operands and "ffi" not in (it.attribute("call_target_name") or "")
    }
    instructions, count = list(computation.instructions), 0
    for position in sorted(pointers):
        it = instructions[position]
        is_address = it.opcode == "constant" and it.shape.element_type in ("s64", "u64") and not it.shape.dimensions
        if is_address and it.literal != "dense<0>":
            instructions[position], count = with_literal(it, "dense<0>"), count + 1
    return (with_instructions(computation, instructions) if count else computation), count
