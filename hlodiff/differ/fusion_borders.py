"""What the compiler fused across the border of an inner function, and what it kept separate.

The Python call stack of an instruction shows which function it belongs to: XLA keeps the stack of an inner function and
of the line that called it, even if the function was jitted by itself and its call was inlined.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlodiff.differ.metrics import BOOKKEEPING
from hlodiff.hlo.metadata import is_library, shown_file
from hlodiff.hlo.model import CALLS, Computation, Frame, Instruction, Module
from hlodiff.hlo.traversal import preorder

REST = ""
_FREE = BOOKKEEPING | {"constant", "iota", "broadcast", "copy"}  # copies belong to no function
_STEP_BY_STEP = ("while", "conditional", "call")


@dataclass(frozen=True, slots=True)
class Kernel:
    """Something that runs by itself and writes its result to memory: a fusion or an operation outside of fusions.

    Args:
        parts: the functions whose operations it has, such as "f at model.py:12"; REST is code outside of inner
            functions.
        opcodes: of its operations, without those that move and compute nothing.

    Example:
        >>> Kernel(("f at a.py:6", ""), ("tanh", "add")).crosses
        True
    """

    parts: tuple[str, ...]
    opcodes: tuple[str, ...]

    @property
    def crosses(self) -> bool:
        """Whether it has operations from both sides of a border."""
        return len(self.parts) > 1


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of inner functions in StableHLO, by name, and those left in the compiled program."""

    functions: tuple[str, ...]
    calls: int
    left: int


def kernels(module: Module, functions: Sequence[tuple[str, str]], root: str = "") -> tuple[Kernel, ...]:
    """The kernels of a compiled program, each with the functions that its operations belong to.

    Args:
        module: a compiled program with its frames.
        functions: name and file of each inner function.
        root: the folder that files are named relative to.

    Returns:
        kernels in the order of the program, those of loops and branches among them.

    Example:
        >>> kernels(Module("m", "compiled", (Computation("main", (), 0),), 0), [])
        ()
    """
    found: list[Kernel] = []

    def run_in_steps(index: int) -> Iterator[int]:
        return (n for it in module.computations[index].instructions if it.opcode in _STEP_BY_STEP for n in it.called)

    for index in preorder([module.entry], run_in_steps):
        for it in module.computations[index].instructions:
            if it.called and it.opcode in _STEP_BY_STEP:
                continue
            inside = [*_all(module, [module.computations[called] for called in it.called])]
            found += _kernel(module, inside if it.opcode == "fusion" else [*inside, it], functions, root)
    return tuple(found)


def _all(module: Module, bodies: Sequence[Computation]) -> Iterator[Instruction]:
    for body in bodies:
        for it in body.instructions:
            yield it
            yield from _all(module, [module.computations[called] for called in it.called])


def _kernel(
    module: Module, instructions: Sequence[Instruction], functions: Sequence[tuple[str, str]], root: str
) -> list[Kernel]:
    working = [it for it in instructions if it.opcode not in _FREE]
    parts: dict[str, None] = {}
    for it in working:
        if it.frame >= 0:
            parts.setdefault(part_of(module.stack(it.frame), functions, root))
    if not working:
        return []
    return [Kernel(tuple(parts) or (REST,), tuple(it.opcode for it in working))]


def part_of(stack: Sequence[Frame], functions: Sequence[tuple[str, str]], root: str = "") -> str:
    """The function that an instruction belongs to: the innermost inner function, and the line that called it.

    Args:
        stack: its frames, innermost first.
        functions: name and file of each inner function.
        root: the folder that files are named relative to.

    Returns:
        `f at model.py:12`, or REST.

    Example:
        >>> part_of((Frame("a.py", 3, "f"), Frame("a.py", 6, "g")), [("f", "a.py")])
        'f at a.py:6'
    """
    for position, frame in enumerate(stack):
        name = frame.function.rpartition(".")[2]
        if (name, shown_file(frame.file, root)) in functions:
            outer = next((each for each in stack[position + 1 :] if not is_library(each.file)), None)
            return f"{name} at {shown_file(outer.file, root)}:{outer.line}" if outer else name
    return REST


def inner_calls(stablehlo: Module, compiled: Module) -> Calls:
    """How often inner functions are called in StableHLO, and how many of these calls XLA keeps.

    Args:
        stablehlo, compiled: both stages of one program.

    Returns:
        counts of the user's functions; a call that XLA made itself counts as kept too.

    Example:
        >>> empty = Module("m", "compiled", (), 0)
        >>> inner_calls(empty, empty).calls
        0
    """
    before = Counter(
        called
        for body in stablehlo.computations
        for it in body.instructions
        if it.opcode in CALLS
        for called in it.called
        if _plain(stablehlo.computations[called].name) not in _JAX_MADE
    )
    left = sum(it.opcode == "call" for body in compiled.computations for it in body.instructions)
    names = tuple(dict.fromkeys(_plain(stablehlo.computations[called].name) for called in sorted(before)))
    return Calls(names, sum(before.values()), left)


_JAX_MADE = ("closed_call", "core_call", "None", "checkpoint", "wrapped", "shmap_body")  # of loop bodies and the like


def _plain(name: str) -> str:
    """JAX numbers functions of one name: `f`, `f_0`, `f_1`."""
    return re.sub(r"_\d+$", "", name)
