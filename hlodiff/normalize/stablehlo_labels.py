"""Rule `labels`: what JAX writes beside arguments and results for people."""

from __future__ import annotations

from hlodiff.ir.model import Instruction, Module
from hlodiff.normalize.rewrite import map_instructions, with_attributes

_LABELS = frozenset(["jax.result_info", "jax.arg_info"])


def drop_labels(module: Module) -> tuple[Module, int]:
    """Drop `jax.result_info` and `jax.arg_info`; the positions of arguments and results stay."""
    return map_instructions(module, _without_labels)


def _without_labels(it: Instruction) -> Instruction:
    kept = tuple((key, value) for key, value in it.attributes if not _is_label(key))
    return it if len(kept) == len(it.attributes) else with_attributes(it, kept)


def _is_label(key: str) -> bool:
    return key in _LABELS or (key.startswith("result") and key.partition(".")[2] in _LABELS)
