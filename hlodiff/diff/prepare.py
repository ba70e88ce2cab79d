"""What a diff works on: both programs without noise, but with their own names, order and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlodiff.diff.branches import in_one_order
from hlodiff.ir.content import Content, computation_hashes, contents
from hlodiff.ir.model import Computation, Instruction, Module
from hlodiff.normalize import RULES
from hlodiff.normalize.fusion_parameters import fusion_parameters
from hlodiff.normalize.roles import fused_only
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
class Hashed:
    """A module as its instructions are paired (see `without_channels`), and the content of its computations."""

    module: Module
    contents: tuple[Content, ...]

    @staticmethod
    def of(module: Module) -> Hashed:
        """Take off channels and tuning, and hash what is left."""
        bare = without_channels(module)
        return Hashed(bare, contents(bare))


@dataclass(frozen=True, slots=True)
class Prepared:
    """Both programs without noise, the same as they are paired, and what was dropped, by rule.

    In `modules` branches that changed their places stand in one order (see `branches`); in `printed` as they were read.
    """

    modules: tuple[Module, Module]
    hashed: tuple[Hashed, Hashed]
    ignored: dict[str, int]
    printed: tuple[Module, Module]


def prepared(old: Module, new: Module) -> Prepared:
    """Apply every rule that drops content to both programs; say what was dropped, by rule.

    Fusions that both programs hold as they are keep the order of their parameters: where two parameters are twins that
    order hangs on what the callers pass, and an edit there must not turn it round.
    """
    modules = [old, new]
    ignored: dict[str, int] = {}
    for rule in RULES:
        if old.stage not in rule.stages or rule.name in PRESENTATION:
            continue
        with_parameters = rule.name == "fusion_parameters"
        results = _with_parameters(modules) if with_parameters else [rule.apply(module) for module in modules]
        modules = [module for module, _ in results]
        if count := sum(count for _, count in results):
            ignored[rule.name] = count
    printed = (modules[0], modules[1])
    hashed = (Hashed.of(printed[0]), Hashed.of(printed[1]))
    ordered = in_one_order(printed, [[content.hash for content in side.contents] for side in hashed])
    if ordered is not printed:
        hashed = (Hashed.of(ordered[0]), Hashed.of(ordered[1]))
    return Prepared(ordered, hashed, ignored, printed)


def _with_parameters(modules: Sequence[Module]) -> list[tuple[Module, int]]:
    fused = [
        {n: _opcodes(module.computations[n]) for n, is_fused in enumerate(fused_only(module)) if is_fused}
        for module in modules
    ]
    # Only what has as many of each operation on both sides can be equal: no other content is looked at.
    alike = set(fused[0].values()) & set(fused[1].values())
    hashes = [
        computation_hashes(without_channels(module), only=[n for n, opcodes in some.items() if opcodes in alike])
        for module, some in zip(modules, fused, strict=True)
    ]
    both = set(hashes[0]) & set(hashes[1]) - {""}
    kept = [frozenset(n for n, one in enumerate(some) if one in both) for some in hashes]
    return [fusion_parameters(module, those, see_callers=False) for module, those in zip(modules, kept, strict=True)]


def _opcodes(computation: Computation) -> tuple[str, ...]:
    return tuple(sorted(it.opcode for it in computation.instructions))


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
