"""Numbers that only say which instructions belong together: channels, host rendezvous, callbacks.

The number itself depends on what was compiled before; which instructions share it is the program. So groups of
partners get new numbers, and those come from what the members are, not from a count over the module: an added
collective does not renumber the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from hlodiff.hlo.fingerprint import contents, shape_text
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.normalizer.custom_call_targets import holds_pointer, is_callback
from hlodiff.normalizer.rewrite import (
    map_instructions,
    with_attribute,
    with_computations,
    with_instructions,
    with_literal,
)
from hlodiff.normalizer.stablehlo_functions import text_order

_RENDEZVOUS = re.compile(r'(_xla_host_transfer_rendezvous=")(\d+)(")')
_CALLBACK = re.compile(r"(\bindex = )(\d+)( : u?i64)")
# Four digits are easy to compare by eye, and hold some thousand channels with few collisions.
_SPREAD = 9000
_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Number:
    """A kind of number in an attribute.

    Args:
        attribute: the attribute that holds it.
        pattern: three groups: before, the number, after.
        applies: which instructions can hold one.
        counted: number groups 0, 1, 2 instead of by content; for numbers where a count is read by people.
    """

    attribute: str
    pattern: re.Pattern[str]
    applies: Callable[[Instruction], bool]
    counted: bool = False


CHANNEL = Number("channel_id", re.compile(r"()(\d+)()"), lambda it: True)
RENDEZVOUS = Number("frontend_attributes", _RENDEZVOUS, lambda it: it.opcode.startswith(("send", "recv")))
CALLBACK = Number("backend_config", _CALLBACK, is_callback, True)


def channel_ids(module: Module) -> tuple[Module, int]:
    """Give channels numbers that come from the instructions that share them."""
    module, count = _renumber(module, CHANNEL)
    module, more = _renumber(module, RENDEZVOUS)
    return module, count + more


def callback_numbers(module: Module) -> tuple[Module, int]:
    """Count Python callbacks 0, 1, 2 in the order that their content decides."""
    return _renumber(module, CALLBACK)


def _renumber(module: Module, kind: Number) -> tuple[Module, int]:
    groups: dict[int, list[_Place]] = {}
    for index, computation in enumerate(module.computations):
        for position, it in enumerate(computation.instructions):
            number = _number(it, kind)
            if number is not None:
                groups.setdefault(number, []).append((index, position))
    if not groups:
        return module, 0
    new = _new_numbers(module, kind, groups)
    places = {place: str(new[number]) for number, members in groups.items() for place in members}
    return _with_numbers(module, kind, places)


def _number(it: Instruction, kind: Number) -> int | None:
    value = it.attribute(kind.attribute) if it.attributes else None
    match = kind.pattern.search(value) if value is not None and kind.applies(it) else None
    return int(match.group(2)) if match else None


def _with_numbers(module: Module, kind: Number, places: dict[_Place, str]) -> tuple[Module, int]:
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


def _new_numbers(module: Module, kind: Number, groups: dict[int, list[_Place]]) -> dict[int, int]:
    keys = {number: _group_key(module, members) for number, members in groups.items()}
    exact: dict[int, Any] = dict(keys)
    # Only groups with equal keys, and what is counted in program order, need their place in the program.
    if kind.counted or len(set(keys.values())) < len(keys):
        where = _instances(module, groups)
        exact = {number: (where[number] if kind.counted else (keys[number], where[number])) for number in groups}
    order = sorted(groups, key=exact.__getitem__)
    given: dict[Any, int] = {}
    free: dict[int, int] = {}  # where to search next: thousands of equal groups would all start from the same number
    used: set[int] = set()
    for number in order:
        if exact[number] in given:
            continue  # the same group in two equal computations, which a later pass merges
        base = 0 if kind.counted else 1 + int.from_bytes(_hash(keys[number][0])[:4], "big") % _SPREAD
        candidate = free.get(base, base)
        while candidate in used:
            candidate += 1
        free[base] = candidate + 1
        used.add(candidate)
        given[exact[number]] = candidate
    return {number: given[exact[number]] for number in groups}


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


def _group_key(module: Module, members: list[_Place]) -> tuple[str, ...]:
    """The members, each by itself, sorted: its hash decides the number."""
    return tuple(sorted(_own(module, place) for place in members))


def _own(module: Module, place: _Place) -> str:
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    operands = ",".join(computation.instructions[o].opcode for o in it.operands)
    rest = [f"{k}={v}" for k, v in _anonymous(it).attributes]
    return f"{it.opcode}({operands}) {shape_text(it.shape)} {' '.join(rest)}"


def _anonymous(it: Instruction) -> Instruction:
    """The instruction without any number of any kind, so that no kind depends on another."""
    for kind in (CHANNEL, RENDEZVOUS, CALLBACK):
        value = it.attribute(kind.attribute) if it.attributes else None
        if value is not None and kind.applies(it):
            it = with_attribute(it, kind.attribute, kind.pattern.sub(r"\1\3", value, count=1))
    return it


def _instances(module: Module, groups: dict[int, list[_Place]]) -> dict[int, tuple[tuple[str, int], ...]]:
    """The place of the members: content hash of the computation, without numbers, and canonical position."""
    found = contents(map_instructions(module, _anonymous)[0])
    places = [place for members in groups.values() for place in members]
    positions: dict[int, dict[int, int]] = {}
    for index, _ in places:
        if index not in positions:
            positions[index] = {position: n for n, position in enumerate(found[index].order)}
    return {
        number: tuple(sorted({(found[index].hash, positions[index][position]) for index, position in members}))
        for number, members in groups.items()
    }


_INDEX = re.compile(r"\b(index|descriptor|keep_alive|callback_id) = (\d+) : (ui?64|i64)")
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
        new = _INDEX.sub(lambda found: f"{found[1]} = {numbers[found[2]]} : {found[3]}", config)
        return it if new == config else with_attribute(it, "mhlo.backend_config", new)

    return map_instructions(module, renumber)


def replace_pointers(module: Module) -> tuple[Module, int]:
    """Replace addresses of Python objects by 0: in the backend configuration and in the operand that older JAX used."""
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
    """JAX before 0.6 hands the callback's address over as a scalar constant, the first operand."""
    pointers = {
        it.operands[0]
        for it in computation.instructions
        if is_callback(it) and it.operands and "ffi" not in (it.attribute("call_target_name") or "")
    }
    instructions, count = list(computation.instructions), 0
    for position in sorted(pointers):
        it = instructions[position]
        if _is_address(it) and it.literal != "dense<0>":
            instructions[position], count = with_literal(it, "dense<0>"), count + 1
    return (with_instructions(computation, instructions) if count else computation), count


def _is_address(it: Instruction) -> bool:
    return it.opcode == "constant" and it.shape.element_type in ("s64", "u64") and not it.shape.dimensions
