"""Where a program runs and where its bytes live: memory spaces, host or device, shardings, donation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hlodiff.diff.metrics import BOOKKEEPING, counted_as
from hlodiff.diff.weights import weigh
from hlodiff.diff.words import memory_space_in_words, platform_of, sharding_in_words
from hlodiff.ir.model import Computation, Instruction, Module

_ALIAS = re.compile(r"\{([\d,\s]*)\}\s*:\s*\((\d+),\s*\{([\d,\s]*)\}(?:,\s*([\w-]+))?\)")
_DONOR = re.compile(r"\((\d+),\s*\{([\d,\s]*)\}\)")
_COMPUTE_TYPE = re.compile(r'_xla_compute_type\s*=\s*"([^"]*)"')


def placements(module: Module) -> dict[str, Any]:
    """The placement table of a program.

    Args:
        module: a program of either stage.

    Returns:
        `compute`: ops by where they run ("device", "host", or XLA's execution thread); `memory` (compiled programs
        only): values and bytes by memory space, values inside fusions left out, since they have no buffer;
        `parameters` and `results`: those that have a sharding, another memory space than the device's, or a donated
        buffer, by position.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> placements(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[2]{0:S(5)} parameter(0)\\n}"))["memory"]
        {'host': {'values': 1, 'bytes': 8}}
    """
    table: dict[str, Any] = {"compute": compute_places(module)}
    if module.stage == "compiled":
        table["memory"] = _memory(module)
    table["parameters"] = _parameters(module)
    table["results"] = _results(module)
    return {name: part for name, part in table.items() if part}


def compute_places(module: Module) -> dict[str, int]:
    """Ops of a program by where they run, "device" first.

    Example:
        >>> compute_places(Module("m", "compiled", (), 0))
        {}
    """
    counts: dict[str, int] = {}
    for computation, weight in zip(module.computations, weigh(module), strict=True):
        for instruction in computation.instructions if weight.total else ():
            if counted_as(module, instruction):
                place = compute_place(computation, instruction)
                counts[place] = counts.get(place, 0) + weight.total
    return dict(sorted(counts.items(), key=lambda item: (item[0] != "device", item[0])))


def compute_place(computation: Computation, instruction: Instruction) -> str:
    """Where one instruction runs: "device", "host", or the name of XLA's execution thread or compute type.

    Example:
        >>> compute_place(Computation("c", (), 0, execution_thread="host"), None)
        'host'
    """
    if computation.execution_thread:
        return computation.execution_thread
    for name, value in instruction.attributes:
        if name.endswith("frontend_attributes") and (found := _COMPUTE_TYPE.search(value)):
            return found.group(1)
    return "device"


@dataclass(frozen=True, slots=True)
class Donated:
    """One entry of a compiled module's header: part `inside` of a parameter ("" for all of it) is given away.

    `result` is the index of the result that takes its place ("" for the only one), None where any may; `kind` is XLA's
    "may-alias" or "must-alias", "" for a mere donor.
    """

    parameter: int
    inside: str
    result: str | None
    kind: str


def donated_parts(module: Module) -> list[Donated]:
    """What `buffer_donor` and `input_output_alias` say, in this order."""
    donors = _DONOR.findall(module.attribute("buffer_donor") or "")
    aliases = _ALIAS.findall(module.attribute("input_output_alias") or "")
    found = [Donated(int(number), _tidy(inside), None, "") for number, inside in donors]
    return found + [Donated(int(number), _tidy(inside), _tidy(out), kind) for out, number, inside, kind in aliases]


def _tidy(index: str) -> str:
    return index.replace(" ", "")


def donations(module: Module) -> dict[int, str]:
    """Which entry parameters are donated, and to what.

    Args:
        module: a program of either stage.

    Returns:
        by parameter number: "result 2", "result" where there is only one, or "any result".

    Example:
        >>> donations(Module("m", "compiled", (), 0, (("input_output_alias", "{ {1}: (0, {}, may-alias) }"),)))
        {0: 'result 1'}
    """
    found: dict[int, str] = {}
    for one in donated_parts(module):
        part = f" (part {one.inside})" if one.inside else ""
        if one.result is not None:
            found[one.parameter] = f"result {one.result}".strip() + part
        else:
            found.setdefault(one.parameter, "any result")
    if module.stage == "stablehlo" and module.computations:
        for number, instruction in enumerate(_entry_parameters(module)):
            alias = instruction.attribute("tf.aliasing_output")
            if alias is not None:
                found[number] = f"result {alias.partition(' ')[0]}"
            elif instruction.attribute("jax.buffer_donor") == "true":
                found[number] = "any result"
    return dict(sorted(found.items()))


def _memory(module: Module) -> dict[str, dict[str, int]]:
    platform = platform_of(module)
    spaces: dict[int, dict[str, int]] = {}
    for computation, weight in zip(module.computations, weigh(module), strict=True):
        inside = weight.kinds.get("fusion", 0) + weight.kinds.get("reduction", 0)
        times = max(weight.total - inside, 0)
        for instruction in computation.instructions if times else ():
            if _has_buffer(instruction, "entry" in weight.kinds):
                for leaf in instruction.shape.leaves():
                    space = leaf.layout.memory_space if leaf.layout else 0
                    record = spaces.setdefault(space, {"values": 0, "bytes": 0})
                    record["values"] += times
                    record["bytes"] += times * leaf.bytes
    return {memory_space_in_words(space, platform): spaces[space] for space in sorted(spaces)}


def _has_buffer(instruction: Instruction, in_entry: bool) -> bool:
    """Whether an op writes a value: what an async op writes is counted where it is done."""
    if instruction.opcode == "parameter":
        return in_entry
    return instruction.opcode not in BOOKKEEPING and not instruction.opcode.endswith("-start")


def _entry_parameters(module: Module) -> list[Instruction]:
    entry = module.entry_computation
    return [entry.instructions[index] for index in entry.parameters()]


def _parameters(module: Module) -> dict[int, dict[str, str]]:
    if not module.computations:
        return {}
    platform = platform_of(module)
    donated = donations(module)
    partitioned = bool(module.attribute("num_partitions"))
    table: dict[int, dict[str, str]] = {}
    for number, instruction in enumerate(_entry_parameters(module)):
        row: dict[str, str] = {}
        sharding = next(
            (v for k, v in instruction.attributes if k in ("sharding", "sdy.sharding", "mhlo.sharding")), ""
        )
        # Every argument of an unpartitioned program says "replicated".
        if sharding and (partitioned or sharding_in_words(sharding.strip('"')) != "replicated"):
            row["sharding"] = sharding_in_words(sharding.strip('"'))
        spaces = dict.fromkeys(leaf.layout.memory_space if leaf.layout else 0 for leaf in instruction.shape.leaves())
        if any(spaces):
            row["memory"] = ", ".join(memory_space_in_words(space, platform) for space in spaces)
        kind = instruction.attribute("mhlo.memory_kind")
        if kind:
            row["memory"] = kind.strip('"')
        if number in donated:
            row["donated_to"] = donated[number]
        if row:
            table[number] = row
    return table


def _results(module: Module) -> dict[int, dict[str, str]]:
    if not module.computations:
        return {}
    entry = module.entry_computation
    root = entry.instructions[entry.root]
    table: dict[int, dict[str, str]] = {}
    if module.stage == "compiled":
        platform = platform_of(module)
        for number, leaf in enumerate(root.shape.leaves()):
            if leaf.layout and leaf.layout.memory_space:
                table[number] = {"memory": memory_space_in_words(leaf.layout.memory_space, platform)}
        return table
    for name, value in root.attributes:
        match = re.fullmatch(r"result(\d+)\.(sdy\.sharding|mhlo\.sharding|mhlo\.memory_kind)", name)
        if match:
            words = value.strip('"')
            row = table.setdefault(int(match.group(1)), {})
            row["memory" if "memory" in name else "sharding"] = words if "memory" in name else sharding_in_words(words)
    return table
