"""Names that come from what an instruction is, so that editing one changes a handful of lines."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import count

from hlodiff.ir.content import is_commutative
from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize.order import legal_order
from hlodiff.normalize.roles import call_sites, role

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
    named = Module(
        module.name, module.stage, tuple(computations), module.entry, module.attributes, module.frames
    )
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


def instruction_names(computation: Computation) -> list[str]:
    """A name for each instruction: parameters by number, others by opcode and the opcodes around them.

    Clashes are counted in an order that content decides, scheduled or not.
    """
    keys = _keys(computation)
    found = [""] * len(keys)
    used: dict[str, int] = {}
    for position in legal_order(computation):
        it = computation.instructions[position]
        if it.opcode == "parameter":
            base = f"p{it.literal}"
        else:
            base = f"{it.opcode}.{keys[position]}"
        number = used[base] = used.get(base, 0) + 1
        found[position] = base if number == 1 else f"{base}.{number}"
    return found


def _keys(computation: Computation) -> list[str]:
    instructions = computation.instructions
    opcodes = [it.opcode for it in instructions]
    users: list[list[str]] = [[] for _ in instructions]
    for it in instructions:
        if not it.operands:
            continue
        for operand in it.operands:
            if not instructions[operand].operands:
                users[operand].append(it.opcode)
    return [short(_context(it, opcodes, users[n])) for n, it in enumerate(instructions)]


def _context(it: Instruction, opcodes: Sequence[str], users: list[str]) -> str:
    below = [opcodes[o] for o in it.operands]
    if is_commutative(it):
        below.sort()
    return f"{it.opcode}({','.join(below)}){','.join(sorted(users))}"


def short(text: str, length: int = 4) -> str:
    """A few letters that stand for the text."""
    number = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    letters = []
    for _ in range(length):
        number, letter = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[letter])
    return "".join(letters)


def _computation_names(module: Module) -> list[str]:
    sites = call_sites(module)
    found: list[str] = []
    used: set[str] = set()
    for index, computation in enumerate(module.computations):
        base = "main" if index == module.entry else _title(module, index, sites[index])
        numbered = (base if n == 1 else f"{base}.{n}" for n in count(1))
        name = next(name for name in numbered if name not in used)
        used.add(name)
        found.append(name)
    return found


def _title(module: Module, index: int, sites: Sequence[tuple[int, int, str]]) -> str:
    computation = module.computations[index]
    roles = sorted({role(module.computations[c].instructions[p].opcode, name) for c, p, name in sites}) or ["unused"]
    root = computation.instructions[computation.root]
    signature = [_sizes(computation.instructions[p]) for p in computation.parameters()]
    return f"{roles[0]}_{root.opcode}.{short(','.join([*signature, _sizes(root)]))}"


def _sizes(it: Instruction) -> str:
    return ";".join(f"{leaf.element_type}{list(leaf.dimensions)}" for leaf in it.shape.leaves())
