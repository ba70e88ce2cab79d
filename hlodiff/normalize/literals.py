"""Large constants: a hash in the place of the numbers."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from hlodiff.ir.hlo_tokens import split_commas
from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_instructions, with_attribute

# Elements from which a constant is stored as its hash. A table that a person would read in a diff stays; one float
# takes about 12 characters of text, so a line stays below 800.
LITERAL_LIMIT = 64
ELIDED = "{...}"
ATTRIBUTE = "hlodiff_literal"


def large_literals(limit: int = LITERAL_LIMIT) -> Callable[[Module], tuple[Module, int]]:
    """A rule that stores constants of more than `limit` elements as element type, shape, bytes and SHA-256."""

    def apply(module: Module) -> tuple[Module, int]:
        return map_instructions(module, lambda it: _shortened(it, limit))

    return apply


def _shortened(it: Instruction, limit: int) -> Instruction:
    if it.opcode != "constant" or it.literal is None or it.literal == ELIDED:
        return it
    text = " ".join(it.literal.split()) if "\n" in it.literal or "  " in it.literal else it.literal
    if it.shape.elements <= limit:
        return it if text == it.literal else _with_literal(it, text)
    digest = sha256("".join(text.split()).encode()).hexdigest()
    shape = it.shape
    sizes = ",".join(map(str, shape.dimensions))
    note = f'{ATTRIBUTE}="{shape.element_type}[{sizes}] {shape.bytes} bytes sha256:{digest}"'
    old = it.attribute("frontend_attributes")
    pairs = sorted([*(split_commas(old[1:-1]) if old else []), note])
    return with_attribute(_with_literal(it, ELIDED), "frontend_attributes", "{" + ",".join(pairs) + "}")


def _with_literal(it: Instruction, literal: str) -> Instruction:
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
        literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip
