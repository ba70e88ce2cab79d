"""What is counted in a program to see how it grows."""

from __future__ import annotations

from collections.abc import Mapping

from hlodiff.diff.metrics import count
from hlodiff.diff.weights import weigh
from hlodiff.ir.model import Instruction, Module, bits_of

QUANTITIES = ("instructions", "constants", "constant_bytes", "text_bytes")
WORDS = {
    "instructions": "instructions",
    "constants": "constants",
    "constant_bytes": "bytes of constants",
    "text_bytes": "bytes of text",
}


def measure(module: Module, text: str) -> dict[str, int]:
    """How large a program is.

    Args:
        module: a normalized program of either stage.
        text: the same as text.

    Returns:
        `instructions` with calls counted as what they call, since XLA inlines them, without what costs nothing (tuples,
        parameters, returns); `constants` among them; `constant_bytes`, of one number repeated only that number;
        `text_bytes` without the numbers of constants.
    """
    ops: Mapping[str, int] = count(module).ops
    constants = [
        it
        for computation, weight in zip(module.computations, weigh(module), strict=True)
        for it in computation.instructions
        if weight.total and it.opcode == "constant"
    ]
    literals = sum(len(it.literal or "") for it in constants)
    return {
        "instructions": sum(ops.values()),
        "constants": ops.get("constant", 0),
        "constant_bytes": sum(map(_bytes, constants)),
        "text_bytes": len(text.encode()) - literals,
    }


def _bytes(it: Instruction) -> int:
    literal = it.literal or ""
    repeated = literal.startswith("dense<") and not literal.startswith(('dense<"', "dense<["))
    if repeated and it.attribute("hlodiff.constant") is None:
        return (bits_of(it.shape.element_type) + 7) // 8
    return it.shape.bytes
