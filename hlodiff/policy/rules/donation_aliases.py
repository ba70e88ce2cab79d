"""Donation must alias: an argument that is given away and not reused costs its bytes twice, and JAX only warns.

It happens where no result has the shape, type, layout or sharding of the argument any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.config_policy import RuleUse
from hlodiff.diff.placement import donations
from hlodiff.ir.model import Module
from hlodiff.policy.programs import Both, Hit, type_of

ADVICE = "return a result of the same shape, type and sharding, or do not donate the argument"


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Donated arguments whose buffer no result of the compiled program takes."""
    compiled = both.compiled.now if both.compiled is not None else None
    if compiled is None:
        return
    aliased = {number for number, result in donations(compiled).items() if result.startswith("result")}
    stablehlo = both.stablehlo.now if both.stablehlo is not None else None
    # JAX marks nothing where no result has the type of the argument: then only the case knows.
    asked = [number for number in both.compiled.donated if number < _arguments(compiled)] if both.compiled else []
    donated = dict.fromkeys([*(donations(stablehlo) if stablehlo else ()), *donations(compiled), *asked])
    written = stablehlo if stablehlo is not None and _arguments(stablehlo) == _arguments(compiled) else compiled
    for number in sorted(donated):
        if number not in aliased:
            entry = written.entry_computation
            it = entry.instructions[_at(written, number)]
            named = it.op_name or compiled.entry_computation.instructions[_at(compiled, number)].op_name
            name = f" ({named})" if named else ""
            what = f"argument {number}{name}, {type_of(it)}, is donated, but no result takes its buffer"
            yield Hit(what, f"argument {number}", written.stack(it.frame))


def _at(module: Module, number: int) -> int:
    return module.entry_computation.parameters()[number]


def _arguments(module: Module) -> int:
    return len(module.entry_computation.parameters())
