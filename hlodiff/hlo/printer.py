"""Prints a Module as HLO text that XLA's own parser accepts: computations before their callers, ENTRY last."""

from __future__ import annotations

from hlodiff.hlo.model import Module
from hlodiff.hlo.traversal import callees_first

# Attributes whose computations XLA prints and reads in braces even if there is only one.
_BRACED = frozenset(["branch_computations", "called_computations"])


def print_hlo(module: Module) -> str:
    """The module as text, without metadata and debug tables.

    Heads of computations have no signature: XLA does not need it, and without it a changed parameter changes one line.

    Args:
        module: a compiled module; names must be unique within each computation.

    Returns:
        Text ending in a newline.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> print(print_hlo(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[2]{0} parameter(0)\\n}")))
        HloModule m
        <BLANKLINE>
        ENTRY %e {
          ROOT %p = f32[2]{0} parameter(0)
        }
        <BLANKLINE>
    """
    lines = [", ".join([f"HloModule {module.name}", *(_pair(*pair) for pair in module.attributes)]), ""]
    for index in callees_first(module):
        computation = module.computations[index]
        entry = "ENTRY " if index == module.entry else ""
        lines.append(f"{entry}%{computation.name} {{")
        lines += [
            "  " + print_instruction(module, index, position) for position in range(len(computation.instructions))
        ]
        pairs = list(computation.attributes)
        if computation.execution_thread:
            pairs.append(("execution_thread", f'"{computation.execution_thread}"'))
        lines += [", ".join(["}", *(_pair(*pair) for pair in pairs)]), ""]
    return "\n".join(lines)


def print_instruction(module: Module, computation: int, instruction: int) -> str:
    """One instruction on one line, without metadata; the root is marked `ROOT`. Works for both stages."""
    owner = module.computations[computation]
    it = owner.instructions[instruction]
    root = "ROOT " if owner.root == instruction else ""
    inside = it.literal
    if inside is None:
        operands = ["%" + owner.instructions[operand].name for operand in it.operands]
        if it.results:
            operands = [f"{one}#{result}" if result else one for one, result in zip(operands, it.results, strict=True)]
        inside = ", ".join(operands)
    parts = [f"{root}%{it.name} = {it.shape.text} {it.opcode}({inside})"]
    for name, group in it.calls:
        names = ", ".join("%" + module.computations[index].name for index in group)
        parts.append(f"{name}={{{names}}}" if name in _BRACED or len(group) != 1 else f"{name}={names}")
    parts += [_pair(*pair) for pair in it.attributes]
    if it.control_predecessors:
        names = ", ".join("%" + owner.instructions[p].name for p in it.control_predecessors)
        parts.append(f"control-predecessors={{{names}}}")
    return ", ".join(parts)


def _pair(name: str, value: str) -> str:
    return f"{name}={value}" if value else name
