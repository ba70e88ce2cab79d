"""Arguments that are new, gone or of another type, by the paths that JAX has for them: `params['w']`.

The matcher pairs arguments by what uses them, so that a bias that is gone may be paired with a new argument of its
shape. A reader knows arguments by their paths, and those of both entries are compared here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.model import Instruction, Module

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
# How `eqx.filter_jit` calls what it was given, donated or not.
_WRAPPED = re.compile(r"^dynamic_(?:no)?donate\['(\w+)'\]")


def path_of(it: Instruction) -> str:
    """The path that JAX has for an argument; "" where an instruction is none, or nobody named it.

    Example:
        >>> from hlodiff.hlo.model import Shape
        >>> path_of(Instruction("p", "parameter", Shape("f32"), op_name="params['a/b']"))
        "params['a/b']"
        >>> path_of(Instruction("p", "parameter", Shape("f32"), op_name="dynamic_donate['first'][6]"))
        'first[6]'
        >>> path_of(Instruction("p", "parameter", Shape("f32"), op_name="jit(f)/scan"))
        ''
    """
    return _WRAPPED.sub(r"\1", it.op_name) if it.opcode == "parameter" and is_path(it.op_name) else ""


def is_path(name: str) -> bool:
    """Whether a name is the path of an argument and no scope; keys of a path may hold slashes.

    Example:
        >>> is_path("params['a/b']"), is_path("jit(f)/scan"), is_path("")
        (True, False, False)
    """
    return bool(name) and "/" not in _QUOTED.sub("", name)


@dataclass(frozen=True, slots=True)
class ArgumentChanges:
    """What became of the arguments of a program.

    Args:
        added, removed: paths, in the order of the arguments.
        retyped: (path, old type, new type), types without their layouts: `f32[8,4]`.
        reordered: the paths of both programs in the new order, where the old order is another one.
        are_named: whether every argument has a path of its own, so that nothing else was added or removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    retyped: tuple[tuple[str, str, str], ...] = ()
    reordered: tuple[str, ...] = ()
    are_named: bool = False


def argument_changes(old: Module, new: Module) -> ArgumentChanges:
    """Compare the arguments of two programs by their paths.

    Args:
        old, new: programs of one stage.

    Returns:
        nothing where a program has an argument without a path, or two of one path: then paths do not say which
        argument is which.

    Example:
        >>> argument_changes(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))
        ArgumentChanges(added=(), removed=(), retyped=(), reordered=(), are_named=False)
    """
    sides = [dict(_arguments(module)) for module in (old, new)]
    counts = [len(module.entry_computation.parameters()) if module.computations else 0 for module in (old, new)]
    if any("" in side or len(side) != count for side, count in zip(sides, counts, strict=True)):
        return ArgumentChanges()
    ours, theirs = sides
    before, after = ([path for path in one if path in other] for one, other in ((ours, theirs), (theirs, ours)))
    return ArgumentChanges(
        tuple(path for path in theirs if path not in ours),
        tuple(path for path in ours if path not in theirs),
        tuple((path, one, theirs[path]) for path, one in ours.items() if theirs.get(path, one) != one),
        tuple(after) if before != after else (),
        bool(ours and theirs),
    )


def _arguments(module: Module) -> Iterator[tuple[str, str]]:
    if module.computations:
        entry = module.entry_computation
        for position in entry.parameters():
            yield path_of(entry.instructions[position]), shape_text(entry.instructions[position].shape, False)
