"""A program as it is compared, field by field: what `replay` works on."""

from __future__ import annotations

from dataclasses import replace

from hlodiff.diff.fields import flat_attributes
from hlodiff.diff.prepare import CHANNELS, bare_instruction, channel_of, tuning_of
from hlodiff.ir.model import Computation, Instruction, Module

TUNING = "tuning"
CHANNEL = "channel_id"


def compared_form(module: Module) -> Module:
    """The same module, indices alike, with each attribute of an instruction standing alone and in order of names.

    Frontend attributes stand one by one, tuning apart from the rest of its configuration, channels under one name.

    Args:
        module: without noise.
    """
    return replace(module, computations=tuple(_computation(computation) for computation in module.computations))


def _computation(computation: Computation) -> Computation:
    if not any(it.attributes for it in computation.instructions):
        return computation
    return replace(computation, instructions=tuple(_instruction(it) for it in computation.instructions))


def _instruction(it: Instruction) -> Instruction:
    if not it.attributes:
        return it
    bare = bare_instruction(it)
    flat = flat_attributes(bare)
    if any(name in CHANNELS for name, _ in it.attributes):
        flat[CHANNEL] = channel_of(it)
    if tuning := tuning_of(it):
        flat[TUNING] = tuning
    return replace(it, attributes=tuple(sorted(flat.items())))
