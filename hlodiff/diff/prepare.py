"""What a diff works on: both programs without noise, but with their own names, order and provenance."""

from __future__ import annotations

from dataclasses import replace

from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize import RULES
from hlodiff.normalize.tuning import split_backend_config

# Rules that only make a file easy to read and to compare by eye. The differ sees through all of them, and needs what
# they take away: op_names are evidence, names and order are what the user knows a program by.
PRESENTATION = frozenset(["metadata", "locations", "names", "module_name", "instruction_order", "computation_order",
                          "equal_computations", "equal_functions", "function_names", "value_names"])  # fmt: skip


def without_noise(module: Module) -> tuple[Module, dict[str, int]]:
    """Apply every rule that drops content; say what was dropped, by rule."""
    ignored: dict[str, int] = {}
    for rule in RULES:
        if module.stage in rule.stages and rule.name not in PRESENTATION:
            module, count = rule.apply(module)
            if count:
                ignored[rule.name] = count
    return module, ignored


def without_tuning(module: Module) -> Module:
    """The same module, indices alike, with backend configurations cut down to the program's part."""
    return replace(module, computations=tuple(_computation_without_tuning(c) for c in module.computations))


def _computation_without_tuning(computation: Computation) -> Computation:
    if not any(key == "backend_config" for it in computation.instructions for key, _ in it.attributes):
        return computation
    return replace(computation, instructions=tuple(map(_instruction_without_tuning, computation.instructions)))


def _instruction_without_tuning(it: Instruction) -> Instruction:
    text = it.attribute("backend_config")
    if text is None:
        return it
    program, _ = split_backend_config(text)
    kept = [(k, program if k == "backend_config" else v) for k, v in it.attributes]
    return replace(it, attributes=tuple((k, v) for k, v in kept if v or k != "backend_config"))


def tuning_of(it: Instruction) -> str:
    """How a GPU is told to run the instruction, as JSON; "" where nothing is said."""
    text = it.attribute("backend_config")
    return split_backend_config(text)[1] if text else ""
