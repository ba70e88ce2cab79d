"""What a diff works on: both programs without noise, but with their own names, order and provenance."""

from __future__ import annotations

from dataclasses import replace

from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize import RULES
from hlodiff.normalize.tuning import split_backend_config

# Rules that only make a file easy to read and to compare by eye. The differ sees through all of them, and needs what
# they take away: op_names are evidence, names and order are what the user knows a program by.
PRESENTATION = frozenset(
    ["metadata", "module_name", "instruction_order", "equal_computations", "computation_order", "names", "locations",
     "stablehlo_module_name", "equal_functions", "function_names", "value_names"]
)  # fmt: skip
CHANNELS = ("channel_id", "channel_handle")
_STRIPPED = frozenset(["backend_config", *CHANNELS])


def channel_of(it: Instruction) -> str:
    """The channel an instruction communicates on, as printed; "" for none."""
    return next((value for key, value in it.attributes if key in CHANNELS), "")


def without_noise(module: Module) -> tuple[Module, dict[str, int]]:
    """Apply every rule that drops content; say what was dropped, by rule."""
    ignored: dict[str, int] = {}
    for rule in RULES:
        if module.stage in rule.stages and rule.name not in PRESENTATION:
            module, count = rule.apply(module)
            if count:
                ignored[rule.name] = count
    return module, ignored


def without_channels(module: Module) -> Module:
    """The same module, indices alike, without tuning and channel numbers: what instructions are paired by.

    Backend configurations are cut down to the program's part. A channel's number means nothing; who meets on it is
    compared once instructions are paired.
    """
    return replace(module, computations=tuple(_bare_computation(c) for c in module.computations))


def _bare_computation(computation: Computation) -> Computation:
    if not any(key in _STRIPPED for it in computation.instructions for key, _ in it.attributes):
        return computation
    return replace(computation, instructions=tuple(map(_bare_instruction, computation.instructions)))


def _bare_instruction(it: Instruction) -> Instruction:
    if not any(key in _STRIPPED for key, _ in it.attributes):
        return it
    kept = [(k, split_backend_config(v)[0] if k == "backend_config" else v) for k, v in it.attributes]
    return replace(it, attributes=tuple((k, v) for k, v in kept if k not in CHANNELS and (v or k not in _STRIPPED)))


def tuning_of(it: Instruction) -> str:
    """How a GPU is told to run the instruction, as JSON; "" where nothing is said."""
    text = it.attribute("backend_config")
    return split_backend_config(text)[1] if text else ""
