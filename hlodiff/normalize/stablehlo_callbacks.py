"""Rules `callback_index` and `process_pointers`: what identifies a Python callback in one process only."""

from __future__ import annotations

import re

from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize.rewrite import map_instructions, with_attribute, with_computations, with_instructions
from hlodiff.normalize.stablehlo_traversal import text_order

_INDEX = re.compile(r"\b(index|descriptor|keep_alive|callback_id) = (\d+) : (ui?64|i64)")
_POINTER = re.compile(r'"\d+"')
_PARTITIONERS = ("CustomSPMDPartitioning", "InspectSharding")


def number_callbacks(module: Module) -> tuple[Module, int]:
    """Number the host callbacks of a program in the order in which they stand in it, from 0.

    JAX takes the number from a list that one process shares between all programs.
    """
    numbers: dict[str, int] = {}
    for computation, position in text_order(module):
        it = module.computations[computation].instructions[position]
        if is_callback(it):
            for found in _INDEX.finditer(it.attribute("mhlo.backend_config") or ""):
                numbers.setdefault(found[2], len(numbers))

    def renumber(it: Instruction) -> Instruction:
        config = it.attribute("mhlo.backend_config")
        if config is None or not is_callback(it):
            return it
        new = _INDEX.sub(lambda found: f"{found[1]} = {numbers[found[2]]} : {found[3]}", config)
        return it if new == config else with_attribute(it, "mhlo.backend_config", new)

    return map_instructions(module, renumber)


def is_callback(it: Instruction) -> bool:
    """Whether a custom call runs Python on the host: `@xla_ffi_python_cpu_callback`, `@xla_python_gpu_callback`, ..."""
    target = it.attribute("call_target_name") or ""
    return it.opcode == "custom_call" and "python" in target and "callback" in target


def replace_pointers(module: Module) -> tuple[Module, int]:
    """Replace addresses of Python objects by 0: in the backend configuration and in the operand that older JAX used."""
    module, count = map_instructions(module, _without_pointer)
    changed = [_without_pointer_operand(computation) for computation in module.computations]
    found = sum(n for _, n in changed)
    return (with_computations(module, [c for c, _ in changed]), count + found) if found else (module, count)


def _without_pointer(it: Instruction) -> Instruction:
    if it.opcode != "custom_call":
        return it
    partitioner = (it.attribute("call_target_name") or "").strip('"') in _PARTITIONERS
    config = it.attribute("backend_config") or ""
    if not (partitioner or is_callback(it)) or not _POINTER.fullmatch(config) or config == '"0"':
        return it
    return with_attribute(it, "backend_config", '"0"')


def _without_pointer_operand(computation: Computation) -> tuple[Computation, int]:
    """JAX before 0.6 hands the callback's address over as a scalar constant, the first operand."""
    pointers = {
        it.operands[0]
        for it in computation.instructions
        if is_callback(it) and it.operands and "ffi" not in (it.attribute("call_target_name") or "")
    }
    instructions, count = list(computation.instructions), 0
    for position in sorted(pointers):
        it = instructions[position]
        if _is_address(it) and it.literal != "dense<0>":
            instructions[position], count = with_literal(it, "dense<0>"), count + 1
    return (with_instructions(computation, instructions) if count else computation), count


def _is_address(it: Instruction) -> bool:
    return it.opcode == "constant" and it.shape.element_type in ("s64", "u64") and not it.shape.dimensions


def with_literal(it: Instruction, literal: str) -> Instruction:
    """The instruction with another literal."""
    return Instruction(
        it.name, it.opcode, it.shape, it.operands, it.results, it.attributes, it.calls, it.control_predecessors,
        literal, it.op_name, it.frame, it.metadata, it.line,
    )  # fmt: skip
