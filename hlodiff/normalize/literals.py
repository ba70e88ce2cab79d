"""Large constants: a hash in the place of the numbers, or nothing where a project does not want them compared."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Literal

from hlodiff.ir.hlo_tokens import parts_or_whole
from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_instructions, with_attribute

Constants = Literal["hash", "ignore"]

# More elements than this, in either stage, make a constant large. A table that a person would read in a diff stays; one
# float takes about 12 characters of text, so a line stays below 800.
LITERAL_LIMIT = 64
ELIDED = "{...}"
ATTRIBUTE = "hlodiff_literal"
_DIGEST = re.compile(rf'({ATTRIBUTE}="[^"]*?) sha256:[0-9a-f]{{64}}"')


def content_note(element_type: str, sizes: str, size: int, digest: str) -> str:
    """The frontend attribute that stands for a large constant's numbers; `digest` is "" where they are not compared."""
    content = f" sha256:{digest}" if digest else ""
    return f'{ATTRIBUTE}="{element_type}[{sizes}] {size} bytes{content}"'


def large_literals(module: Module) -> tuple[Module, int]:
    """Store constants of more than `LITERAL_LIMIT` elements as element type, shape, bytes and SHA-256."""
    return map_instructions(module, lambda it: _shortened(it, compared=True))


def ignored_literals(module: Module) -> tuple[Module, int]:
    """Store them as element type, shape and bytes alone, also where a hash is known already."""
    return map_instructions(module, lambda it: _without_digest(_shortened(it, compared=False)))


def _shortened(it: Instruction, *, compared: bool) -> Instruction:
    if it.opcode != "constant" or it.literal is None or it.literal == ELIDED:
        return it
    text = " ".join(it.literal.split()) if "\n" in it.literal or "  " in it.literal else it.literal
    if it.shape.elements <= LITERAL_LIMIT:
        return it if text == it.literal else _with_literal(it, text)
    digest = sha256("".join(text.split()).encode()).hexdigest() if compared else ""
    shape = it.shape
    note = content_note(shape.element_type, ",".join(map(str, shape.dimensions)), shape.bytes, digest)
    old = it.attribute("frontend_attributes")
    pairs = sorted([*(parts_or_whole(old[1:-1]) if old else []), note])
    return with_attribute(_with_literal(it, ELIDED), "frontend_attributes", "{" + ",".join(pairs) + "}")


def _without_digest(it: Instruction) -> Instruction:
    note = it.attribute("frontend_attributes") if it.literal == ELIDED else None
    if note is None or not _DIGEST.search(note):
        return it
    return with_attribute(it, "frontend_attributes", _DIGEST.sub(r'\1"', note))


def _with_literal(it: Instruction, literal: str) -> Instruction:
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
        literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip
