"""What a diff works on: both programs without noise, but with their own names, order and provenance."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from hlodiff.ir.content import computation_hashes
from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize import RULES
from hlodiff.normalize.fusion_parameters import fusion_parameters
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


@dataclass(frozen=True, slots=True)
class Prepared:
    """Both programs without noise, and what was dropped, by rule."""

    modules: tuple[Module, Module]
    ignored: dict[str, int]


def prepared(old: Module, new: Module) -> Prepared:
    """Apply every rule that drops content to both programs; say what was dropped, by rule.

    Fusions that both programs hold as they are keep the order of their parameters: where two parameters are twins that
    order hangs on what the callers pass, and an edit there must not turn it round.
    """
    modules = (old, new)
    ignored: dict[str, int] = {}
    for rule in RULES:
        if old.stage not in rule.stages or rule.name in PRESENTATION:
            continue
        if rule.name == "fusion_parameters":
            kept = _on_both_sides(*modules)
            results = tuple(fusion_parameters(each, those) for each, those in zip(modules, kept, strict=True))
        else:
            results = tuple(map(rule.apply, modules))
        modules = (results[0][0], results[1][0])
        count = results[0][1] + results[1][1]
        if count:
            ignored[rule.name] = count
    return Prepared(modules, ignored)


def _on_both_sides(old: Module, new: Module) -> tuple[frozenset[int], frozenset[int]]:
    """Indices of the computations that the other program has too, tuning and channel numbers aside."""
    before, after = (computation_hashes(without_channels(module)) for module in (old, new))
    both = set(before) & set(after)
    return _indices(before, both), _indices(after, both)


def _indices(hashes: Sequence[str], wanted: Container[str]) -> frozenset[int]:
    return frozenset(n for n, it in enumerate(hashes) if it in wanted)


def without_channels(module: Module) -> Module:
    """The same module, indices alike, without tuning and channel numbers: what instructions are paired by.

    Backend configurations are cut down to the program's part. A channel's number means nothing; who meets on it is
    compared once instructions are paired.
    """
    return replace(module, computations=tuple(_bare_computation(c) for c in module.computations))


def _bare_computation(computation: Computation) -> Computation:
    if not any(key in _STRIPPED for it in computation.instructions for key, _ in it.attributes):
        return computation
    return replace(computation, instructions=tuple(map(bare_instruction, computation.instructions)))


def bare_instruction(it: Instruction) -> Instruction:
    """The same instruction without tuning and channel number."""
    if not any(key in _STRIPPED for key, _ in it.attributes):
        return it
    kept = [(k, split_backend_config(v)[0] if k == "backend_config" else v) for k, v in it.attributes]
    return replace(it, attributes=tuple((k, v) for k, v in kept if k not in CHANNELS and (v or k not in _STRIPPED)))


def tuning_of(it: Instruction) -> str:
    """How a GPU is told to run the instruction, as JSON; "" where nothing is said."""
    text = it.attribute("backend_config")
    return split_backend_config(text)[1] if text else ""
