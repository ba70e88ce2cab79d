"""Whether two programs have so little in common that matching them would tell no story.

What is counted are instructions that do some work, each as often as its text stands on both sides: opcode, type,
literal, and the opcodes of its operands. Measured: of 60 pairs of different functions 57 have at most 9 % in common and
none more than 36 %; 41 functions compiled by JAX 0.7.2 and 0.10.2 have 65 to 100 %, one with two and with five layers
has 56 %. A third lies between. One function by two compilers is on either side: a training step of a transformer has
28 % in common on cpu and cuda and 31 % on cpu and tpu, most small functions have 35 to 60 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from hlodiff.differ.limits import Limits
from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.model import Module
from hlodiff.hlo.parser import LazyComputations

# Instructions of both sides below which two programs are always matched: that takes less than half a second.
_SMALL = 1_000
# They stand in every program, whatever it computes; a placeholder is counted with what was left out.
_EVERYWHERE = frozenset(
    ["parameter", "constant", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "broadcast",
     "broadcast_in_dim", "copy", "fusion", "call", "func.call", "return", "unopened"]
)  # fmt: skip


def share_in_common(modules: tuple[Module, Module], left_out: int = 0) -> float:
    """Instructions that both programs hold, as a share of all, from 0 to 1.

    Args:
        modules: two programs without noise.
        left_out: instructions of both that are not in them because they are equal on both sides.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> rows = "p = f32[] parameter(0)", "s = f32[] sine(p)", "ROOT r = f32[] log(s)"
        >>> text = "\\n".join(["HloModule m", "ENTRY e {", *rows, "}"])
        >>> share_in_common((read_hlo(text), read_hlo(text.replace("log", "tanh"))))
        0.5
    """
    old, new = map(_counted, modules)
    total = old.total() + new.total() + left_out
    return (2 * (old & new).total() + left_out) / total if total else 1.0


def _counted(module: Module) -> Counter[Hashable]:
    return Counter(
        (it.opcode, shape_text(it.shape, False), it.literal, tuple([owner.instructions[o].opcode for o in it.operands]))
        for owner in module.computations
        for it in owner.instructions
        if it.opcode not in _EVERYWHERE
    )


def are_unrelated(opened: tuple[Module, Module], whole: tuple[Module, Module], limits: Limits) -> float | None:
    """The share in common of two programs that are not worth matching; None where they are.

    Args:
        opened: what pruning left of the two.
        whole: the programs; nothing of them is read for this.
        limits: `limits.unrelated` is the percentage below which they are not.
    """
    size = sum(len(owner.instructions) for module in opened for owner in module.computations)
    if size < _SMALL:
        return None
    share = share_in_common(opened, max(sum(map(_lines, whole)) - size, 0))
    return share if 100 * share < limits.unrelated else None


def _lines(module: Module) -> int:
    if isinstance(module.computations, LazyComputations):
        return sum(span.lines for span in module.computations.spans)
    return module.instruction_count()
