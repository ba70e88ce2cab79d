"""What XLA's own cost analysis says of single instructions: each is put into a program of its own and analyzed there.

XLA analyzes whole programs only, and counts the body of a loop once. Taken apart, each figure is of one instruction.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from hlodiff.hlo import mlir
from tests.hlo_count import Body, Op, Program, parse

_TITLE = re.compile(r"^(?:ENTRY )?%(\S+) .*\{$")
_LINE = re.compile(r"^\s+(?:ROOT )?%(\S+) = ")
_CONTROL = re.compile(r", control-predecessors=\{[^}]*\}")


@functools.cache
def _client() -> Any:
    return importlib.import_module("jaxlib.xla_client").make_cpu_client()


def single_costs(
    text: str, wanted: Callable[[Program, Body, Op], bool]
) -> Iterator[tuple[Program, Body, Op, dict[str, float]]]:
    """Each wanted instruction with what XLA says of it.

    Args:
        text: a compiled program.
        wanted: which instructions to look at.

    Yields:
        the program, where the instruction stands, the instruction, and XLA's figures by name.
    """
    analyze = importlib.import_module("jaxlib._jax").hlo_module_cost_analysis
    program, printed = parse(text), mlir.hlo_from_text(text).to_string()
    bodies, lines = _pieces(printed)
    known: dict[str, dict[str, float]] = {}
    for body in program.bodies.values():
        for op in body.ops:
            if body.name not in bodies or not wanted(program, body, op):
                continue
            alone = _alone(program, body, op, bodies, lines)
            key = re.sub(r"%[\w.\-]+", "%", alone)
            if key not in known:
                known[key] = analyze(_client(), mlir.hlo_from_text(alone))
            yield program, body, op, known[key]


def _pieces(printed: str) -> tuple[dict[str, str], dict[str, str]]:
    """Computations by name, and lines by the name of their instruction."""
    bodies: dict[str, list[str]] = {}
    lines: dict[str, str] = {}
    current = ""
    for line in printed.splitlines():
        title, instruction = _TITLE.match(line), _LINE.match(line)
        if title:
            current = title[1]
        if current:
            bodies.setdefault(current, []).append(line)
        if instruction:
            lines[instruction[1]] = line.strip().removeprefix("ROOT ")
        if line.startswith("}"):
            current = ""
    return {name: "\n".join(each) for name, each in bodies.items()}, lines


def _alone(program: Program, body: Body, op: Op, bodies: dict[str, str], lines: dict[str, str]) -> str:
    given = {body.ops[operand].name: body.ops[operand] for operand in op.operands}
    parameters = []
    for number, one in enumerate(given.values()):
        shape = lines[one.name].partition(" = ")[2].partition(f" {one.opcode}(")[0]
        parameters.append(f"  %{one.name} = {shape} parameter({number})")
    needed: dict[str, None] = {}

    def need(name: str) -> None:
        for inner in program.bodies[name].ops:
            for callee in inner.called:
                need(callee)
        needed[name] = None

    for callee in op.called:
        need(callee)
    entry = ["ENTRY %alone {", *parameters, f"  ROOT {_CONTROL.sub('', lines[op.name])}", "}"]
    return "\n\n".join(["HloModule alone", *(bodies[name] for name in needed), "\n".join(entry)])
