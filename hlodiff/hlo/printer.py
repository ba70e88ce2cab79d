"""Prints a Module as HLO text that XLA's own parser accepts: computations before their callers, ENTRY last."""

from __future__ import annotations

from hlodiff.hlo.grammar import print_shape
from hlodiff.hlo.model import Module
from hlodiff.hlo.traversal import callees_first

# Attributes whose computations XLA prints and reads in braces even where there is only one.
_BRACED = frozenset(["branch_computations", "called_computations"])


def print_hlo(module: Module) -> str:
    """The module as text, without metadata and debug tables.

    Heads of computations hold no signature: XLA does not need it, and a changed parameter stays one changed line.

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
    parts = [", ".join([f"HloModule {module.name}", *(_pair(*pair) for pair in module.attributes)]) + "\n"]
    for index in callees_first(module):
        parts.append(_print_computation(module, index))
    return "\n".join(parts)


def _print_computation(module: Module, index: int) -> str:
    computation = module.computations[index]
    entry = "ENTRY " if index == module.entry else ""
    lines = [f"{entry}%{computation.name} {{"]
    for position in range(len(computation.instructions)):
        lines.append("  " + print_instruction(module, index, position))
    pairs = list(computation.attributes)
    if computation.execution_thread:
        pairs.append(("execution_thread", f'"{computation.execution_thread}"'))
    return "\n".join([*lines, ", ".join(["}", *(_pair(*pair) for pair in pairs)]) + "\n"])


def print_instruction(module: Module, computation: int, instruction: int) -> str:
    """One instruction on one line, without metadata; `ROOT` in front of the root. Works for both stages."""
    owner = module.computations[computation]
    it = owner.instructions[instruction]
    root = "ROOT " if owner.root == instruction else ""
    inside = it.literal
    if inside is None:
        operands = ["%" + owner.instructions[operand].name for operand in it.operands]
        if it.results:
            operands = [f"{one}#{result}" if result else one for one, result in zip(operands, it.results, strict=True)]
        inside = ", ".join(operands)
    parts = [f"{root}%{it.name} = {print_shape(it.shape)} {it.opcode}({inside})"]
    parts += [_print_call(module, name, group) for name, group in it.calls]
    parts += [_pair(*pair) for pair in it.attributes]
    if it.control_predecessors:
        names = ", ".join("%" + owner.instructions[p].name for p in it.control_predecessors)
        parts.append(f"control-predecessors={{{names}}}")
    return ", ".join(parts)


def _print_call(module: Module, name: str, group: tuple[int, ...]) -> str:
    names = ", ".join("%" + module.computations[index].name for index in group)
    return f"{name}={{{names}}}" if name in _BRACED or len(group) != 1 else f"{name}={names}"


def _pair(name: str, value: str) -> str:
    return f"{name}={value}" if value else name
