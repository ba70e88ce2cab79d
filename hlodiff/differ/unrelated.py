"""Whether two programs have so little in common that a list of edits would explain nothing.

Two shares decide: the common *instructions* that do some work (opcode, type, literal, opcodes of operands), and the
common *interface* (types of arguments and results, without layouts). Measured on all pairs of together 1,000
instructions of 41 functions of published libraries (JAX 0.7.2 and 0.10.2, cpu and TPU) and of the examples (cpu, TPU,
CUDA):

| pairs | instructions | interface |
| --- | --- | --- |
| 31 of one function by two versions of JAX | 70 to 100 % | 100 % |
| 65 of one function for two targets, or both | 19 to 70 %, 16 of them below 33 % | 100 % |
| 1,879 of different functions, of 1,986 | 0 to 33 % | 0 to 55 % |
| 15 of a diffrax solve and its gradient or another one | 17 to 33 % | 100 % |

So two programs are unrelated below a third of the instructions, or below a ninth if four fifths of the interface are
equal: 1,879 pairs of different functions are called unrelated, and none of one function is. With instructions alone, 16
of the 65 pairs of targets would be.

One number in Python, such as a width, changes most shapes. An LSTM of 64 instead of 48 units has 31 % of its
instructions in common on CUDA, but 94 % apart from the sizes of arrays. So programs are related, too, that have half of
their instructions and nine tenths of their interface in common apart from sizes. Of 4,569 pairs of different functions
(those above, by both versions of JAX) that makes none related that was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

from hlodiff.differ.limits import Limits
from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.model import Module, Shape
from hlodiff.hlo.parser import LazyComputations

# Instructions of both sides below which two programs are always matched: that takes less than half a second.
_SMALL = 1_000
# Share of the interface from which two programs may be one function, and the divisor of the threshold then.
_SAME_INTERFACE, _LENIENCE = 0.8, 3
# The same for one function with arrays of other sizes, where sizes are left out.
_SIZELESS_INTERFACE, _SIZELESS_STRICTNESS = 0.9, 1.5
# They are in every program, whatever it computes; a placeholder is counted with the pruned ones.
_EVERYWHERE = frozenset(
    ["parameter", "constant", "tuple", "get-tuple-element", "get_tuple_element", "bitcast", "broadcast",
     "broadcast_in_dim", "copy", "fusion", "call", "func.call", "return", "unopened"]
)  # fmt: skip


Copies = tuple[Mapping[int, int], Mapping[int, int]]
"""For shared copies on either side, how many computations they represent."""
_NO_COPIES: Copies = ({}, {})


def share_in_common(
    modules: tuple[Module, Module], left_out: int = 0, copies: Copies = _NO_COPIES, *, sized: bool = True
) -> float:
    """Instructions that both programs hold, as a share of all, from 0 to 1.

    Args:
        modules: two programs without noise.
        left_out: instructions that were pruned because they are equal on both sides.
        copies: how many computations a shared copy represents.
        sized: whether arrays of other sizes and other literals are something else.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> rows = "p = f32[] parameter(0)", "s = f32[] sine(p)", "ROOT r = f32[] log(s)"
        >>> text = "\\n".join(["HloModule m", "ENTRY e {", *rows, "}"])
        >>> share_in_common((read_hlo(text), read_hlo(text.replace("log", "tanh"))))
        0.5
    """
    old, new = (_counted(module, times, sized) for module, times in zip(modules, copies, strict=True))
    total = old.total() + new.total() + left_out
    return (2 * (old & new).total() + left_out) / total if total else 1.0


def _type(shape: Shape, sized: bool) -> Hashable:
    return (
        shape_text(shape, False) if sized else tuple([(it.element_type, len(it.dimensions)) for it in shape.leaves()])
    )


def _counted(module: Module, copies: Mapping[int, int], sized: bool) -> Counter[Hashable]:
    found: Counter[Hashable] = Counter()
    for index, owner in enumerate(module.computations):
        times = copies.get(index, 1)
        opcodes = [it.opcode for it in owner.instructions]
        work = [
            (it.opcode, _type(it.shape, sized), it.literal if sized else None, tuple([opcodes[o] for o in it.operands]))
            for it in owner.instructions
            if it.opcode not in _EVERYWHERE
        ]
        found.update(work if times == 1 else {one: number * times for one, number in Counter(work).items()})
    return found


def interface_in_common(modules: tuple[Module, Module], *, sized: bool = True) -> float:
    """Types of arguments and results that both programs have, as a share of all, from 0 to 1.

    Args:
        modules: the programs.
        sized: whether arrays of other sizes have another type.
    """
    found: list[Counter[Hashable]] = []
    for entry in (module.entry_computation for module in modules):
        taken = [entry.instructions[index].shape for index in entry.parameters()]
        given = entry.instructions[entry.root].shape.leaves()
        types = [("argument", shape) for shape in taken] + [("result", shape) for shape in given]
        found.append(Counter((what, _type(shape, sized)) for what, shape in types))
    total = found[0].total() + found[1].total()
    return 2 * (found[0] & found[1]).total() / total if total else 1.0


def are_unrelated(
    opened: tuple[Module, Module], whole: tuple[Module, Module], limits: Limits, copies: Copies = _NO_COPIES
) -> float | None:
    """The common share of two programs that are not worth matching; None if they are.

    Args:
        opened: what pruning left of the two.
        whole: the programs; at most their entries are read for this.
        limits: `limits.unrelated` is the percentage below which they are not, a third of it where they take and return
            the same.
        copies: how many computations a shared copy represents.
    """
    size = sum(
        len(owner.instructions) * times.get(index, 1)
        for module, times in zip(opened, copies, strict=True)
        for index, owner in enumerate(module.computations)
    )
    if size < _SMALL:
        return None
    left_out = max(sum(map(_lines, whole)) - size, 0)
    share = share_in_common(opened, left_out, copies)
    if 100 * share >= limits.unrelated:
        return None
    if _LENIENCE * 100 * share >= limits.unrelated and interface_in_common(whole) >= _SAME_INTERFACE:
        return None
    if interface_in_common(whole, sized=False) < _SIZELESS_INTERFACE:
        return share
    is_resized = 100 * share_in_common(opened, left_out, copies, sized=False) >= _SIZELESS_STRICTNESS * limits.unrelated
    return None if is_resized else share


def _lines(module: Module) -> int:
    if isinstance(module.computations, LazyComputations):
        return sum(span.lines for span in module.computations.spans)
    return module.instruction_count()
