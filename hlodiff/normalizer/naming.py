"""The pass `names`: names derived from content, so that editing one instruction changes a handful of lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from hlodiff.hlo.fingerprint import is_commutative
from hlodiff.hlo.model import Computation, Instruction, Module, Shape
from hlodiff.normalizer.computation_kinds import call_sites, computation_kind
from hlodiff.normalizer.ordering import legal_order

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without l, o, 0, 1: people copy names by eye


def names(module: Module) -> tuple[Module, int]:
    """Rename computations and instructions."""
    titles = _computation_names(module)
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


# Frequent opcodes. All others are landmarks: what follows one is named after it, so that an edit shifts the count of
# equal instructions up to the next landmark only. Measured: lines that `diff` adds and removes, seven kinds
# of single edits (literal, opcode, insert, delete, layout, shape, operand swap) in 26 programs of three backends, few
# edits of each kind in each. Median and mean: counting equals by opcode and operand opcodes 5 and 10.6; widening the
# context until it is unique 6 and 10.6; sections cut by hash 3 and 9.5; landmarks by opcode 3 and 7.7; by opcode and
# shape 4 and 8.5. A fusion inserted on an edge of the entry decided: 54 lines in the median by opcode, 19 by opcode
# and shape, 9 with the shapes of operands. With these the result is 4 and 12.8 (about 350 edits): literal, layout
# 2, insert and shape 6, opcode 8, swap 12, delete 15. Where the edit hits one of several equal computations, which
# are stored once, the edited one is printed in full: 8 and 20.5.
_COMMON = frozenset(
    ["add", "and", "bitcast", "broadcast", "compare", "constant", "convert", "copy", "copy-done", "copy-start",
     "divide", "get-tuple-element", "maximum", "minimum", "multiply", "negate", "or", "parameter", "reshape", "select",
     "slice", "subtract", "transpose", "tuple", "xor"]
)  # fmt: skip
# Operands that count: the tuple of a large loop has thousands.
_WIDTH = 8


def instruction_names(computation: Computation) -> list[str]:
    """A name for each instruction: parameters by number, others by opcode, landmark and a count of equals.

    The count runs in an order that content decides, scheduled or not.
    """
    found = [""] * len(computation.instructions)
    seen: dict[str, int] = {}
    names = _Names()
    landmark = ""
    for position in legal_order(computation):
        it = computation.instructions[position]
        if it.opcode == "parameter":
            found[position] = names.give(f"p{it.literal}")
            continue
        if it.opcode not in _COMMON:
            kind = " ".join([it.opcode, *(_sizes(one) for one in (it, *_operands(computation, it)))])
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


class _Names:
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


def _computation_names(module: Module) -> list[str]:
    sites = call_sites(module)
    names = _Names()
    return [
        names.give("main" if index == module.entry else _title(module, index, sites[index]))
        for index in range(len(module.computations))
    ]


def _title(module: Module, index: int, sites: Sequence[tuple[int, int, str]]) -> str:
    computation = module.computations[index]
    kinds = sorted({computation_kind(module.computations[c].instructions[p].opcode, name) for c, p, name in sites}) or [
        "unused"
    ]
    root = computation.instructions[computation.root]
    signature = [_sizes(computation.instructions[p]) for p in computation.parameters()]
    return f"{kinds[0]}_{root.opcode}.{short(','.join([*sorted(signature), _sizes(root)]))}"


def _sizes(it: Instruction) -> str:
    return _shape_sizes(it.shape)


@lru_cache(maxsize=65536)
def _shape_sizes(shape: Shape) -> str:
    return ";".join(f"{leaf.element_type}{list(leaf.dimensions)}" for leaf in shape.leaves())
