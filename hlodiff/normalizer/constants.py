"""Large constants: the values are replaced by a hash, or dropped if the project does not compare them."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Literal

from hlodiff.hlo.grammar import ELIDED_CONSTANT, parts_or_whole
from hlodiff.hlo.model import Instruction, Module, map_instructions, with_attribute, with_attributes, with_literal
from hlodiff.hlo.parser import LazyComputations

Constants = Literal["hash", "ignore"]

# More elements than this, in either stage, make a constant large. A table that a person would read in a diff stays; one
# float takes about 12 characters of text, so a line stays below 800.
LITERAL_LIMIT = 64
ELIDED = "{...}"
ELIDED_ATTRIBUTE = "hlodiff_literal"
_NOTE = re.compile(rf'({ELIDED_ATTRIBUTE}="[^"]*?) sha256:[0-9a-f]{{64}}"')


def content_note(element_type: str, sizes: str, size: int, digest: str) -> str:
    """The frontend attribute that replaces the numbers of a large constant; `digest` is "" if they are not compared."""
    content = f" sha256:{digest}" if digest else ""
    return f'{ELIDED_ATTRIBUTE}="{element_type}[{sizes}] {size} bytes{content}"'


def large_literals(module: Module) -> tuple[Module, int]:
    """Store constants of more than `LITERAL_LIMIT` elements as element type, shape, bytes and SHA-256."""
    return map_instructions(module, lambda it: _shortened(it, compared=True))


def ignored_literals(module: Module) -> tuple[Module, int]:
    """Store large constants as element type, shape and bytes, without a hash; an existing hash is dropped."""
    return map_instructions(module, lambda it: _without_note(_shortened(it, compared=False)))


def _shortened(it: Instruction, *, compared: bool) -> Instruction:
    if it.opcode != "constant" or it.literal is None or it.literal == ELIDED:
        return it
    text = " ".join(it.literal.split()) if "\n" in it.literal or "  " in it.literal else it.literal
    if it.shape.elements <= LITERAL_LIMIT:
        return it if text == it.literal else with_literal(it, text)
    digest = sha256("".join(text.split()).encode()).hexdigest() if compared else ""
    shape = it.shape
    note = content_note(shape.element_type, ",".join(map(str, shape.dimensions)), shape.bytes, digest)
    old = it.attribute("frontend_attributes")
    pairs = sorted([*(parts_or_whole(old[1:-1]) if old else []), note])
    return with_attribute(with_literal(it, ELIDED), "frontend_attributes", "{" + ",".join(pairs) + "}")


def _without_note(it: Instruction) -> Instruction:
    note = it.attribute("frontend_attributes") if it.literal == ELIDED else None
    if note is None or not _NOTE.search(note):
        return it
    return with_attribute(it, "frontend_attributes", _NOTE.sub(r'\1"', note))


CONSTANT_ATTRIBUTE = "hlodiff.constant"
_HEX = re.compile(r'dense<"0x([0-9A-Fa-f]*)">')
_CONSTANT_DIGEST = re.compile(r"sha256:[0-9a-f]{64}, ")


def hash_constants(module: Module) -> tuple[Module, int]:
    """Replace constants of more than `LITERAL_LIMIT` elements by a zero of the same shape and a hash.

    The hash and the number of bytes are in the attribute `hlodiff.constant`. A constant that repeats one number is not
    large.

    Args:
        module: a StableHLO module.

    Returns:
        The module and how many constants were replaced.
    """
    return map_instructions(module, lambda it: _noted(it, compared=True) if _is_large(it) else it)


def ignore_constants(module: Module) -> tuple[Module, int]:
    """Like `hash_constants` but without the hash, so values are not compared; an existing hash is dropped."""
    return map_instructions(
        module, lambda it: _noted(it, compared=False) if _is_large(it) else _without_constant_digest(it)
    )


def _is_large(it: Instruction) -> bool:
    if it.opcode != "constant" or it.literal is None or it.shape.elements <= LITERAL_LIMIT:
        return False
    return it.literal.startswith(('dense<"', "dense<[", "dense_resource<"))


def _noted(it: Instruction, *, compared: bool) -> Instruction:
    literal = it.literal or ""
    data = _HEX.fullmatch(literal) if compared else None
    digest = sha256(bytes.fromhex(data[1]) if data else literal.encode()).hexdigest() if compared else ""
    content = f"sha256:{digest}, " if compared else ""
    note = f'"{content}{it.shape.bytes} bytes"'
    attributes = tuple(sorted((*it.attributes, (CONSTANT_ATTRIBUTE, note))))
    return with_attributes(with_literal(it, _zero(it.shape.element_type)), attributes)


def _without_constant_digest(it: Instruction) -> Instruction:
    note = it.attribute(CONSTANT_ATTRIBUTE) if it.opcode == "constant" else None
    if note is None or not _CONSTANT_DIGEST.search(note):
        return it
    pairs = (
        (key, _CONSTANT_DIGEST.sub("", value) if key == CONSTANT_ATTRIBUTE else value) for key, value in it.attributes
    )
    return with_attributes(it, tuple(pairs))


def _zero(element_type: str) -> str:
    """A splat of zero as MLIR prints it."""
    if element_type == "pred":
        return "dense<false>"
    if element_type in ("c64", "c128"):
        return "dense<(0.000000e+00,0.000000e+00)>"
    return "dense<0.000000e+00>" if element_type.startswith(("f", "bf")) else "dense<0>"


_OF_MLIR = "__elided__"


def elided_constants(module: Module) -> int:
    """Count the constants whose values are elided; those that a snapshot holds as a hash do not count.

    Args:
        module: as it was read; unread computations stay unread.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> elided_constants(read_hlo("HloModule m\\nENTRY e {\\n  ROOT c = f32[16]{0} constant({...})\\n}"))
        1
    """
    if isinstance(module.computations, LazyComputations):
        return sum(ELIDED_ATTRIBUTE not in found[0] for found in ELIDED_CONSTANT.finditer(module.computations.text))
    return sum(is_elided(it) for computation in module.computations for it in computation.instructions)


def is_elided(it: Instruction) -> bool:
    """Whether it is a constant with neither its value nor a hash of it.

    Example:
        >>> from hlodiff.hlo.model import Shape
        >>> is_elided(Instruction("c", "constant", Shape("f32"), literal="{...}"))
        True
    """
    if it.opcode == "constant" and "..." in (it.literal or ""):
        return not any(ELIDED_ATTRIBUTE in key or ELIDED_ATTRIBUTE in value for key, value in it.attributes)
    if it.literal and _OF_MLIR in it.literal:
        return True
    return bool(it.attributes) and any(_OF_MLIR in value for _, value in it.attributes)


def format_elided(count: int) -> str:
    """A warning about `count` elided constants, in one sentence."""
    what, which = ("1 constant is", "it is") if count == 1 else (f"{count:,} constants are", "they are")
    how = "to have them, dump with XLA_FLAGS=--xla_dump_large_constants"
    return f"{what} not in the files ({{...}}): whether {which} the same is not known; {how}"
