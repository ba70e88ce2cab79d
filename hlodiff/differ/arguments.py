"""Arguments that were added, removed or changed type, by their JAX paths: `params['w']`.

The matcher pairs arguments by their users, so a removed bias may be paired with a new argument of its shape. Users know
arguments by their paths, so the paths of both entries are compared here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.model import Instruction, Module

# A string up to its end or that of the name: searching again at each quote would take quadratic time.
_QUOTED = re.compile(r"'[^'\\]*+(?:\\.[^'\\]*+)*+(?:'|$)|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:\"|$)", re.DOTALL)
# A path key that is a name: neither a list index nor the brackets around a name.
_NAME = re.compile(rf"{_QUOTED.pattern}|[^\W\d]\w*", re.DOTALL)
# Names of arguments inside `eqx.filter_jit`, donated or not.
_WRAPPED = re.compile(r"^dynamic_(?:no)?donate\['(\w+)'\]")


def path_of(it: Instruction) -> str:
    """The JAX path of an argument; "" if the instruction is not an argument or has no name.

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
    """Whether a name is an argument's path and not a scope; keys of a path may contain slashes.

    Example:
        >>> is_path("params['a/b']"), is_path("jit(f)/scan"), is_path("")
        (True, False, False)
    """
    return bool(name) and "/" not in _QUOTED.sub("", name)


@dataclass(frozen=True, slots=True)
class ArgumentChanges:
    """How the arguments of a program changed.

    Args:
        added, removed: paths, in the order of the arguments.
        renamed: (old path, new path) of arguments that only moved to another depth of a structure.
        retyped: (path, old type, new type), types without their layouts: `f32[8,4]`.
        reordered: the paths common to both programs in the new order, if the order changed.
        are_named: whether every argument has a path of its own, so that nothing else was added or removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    retyped: tuple[tuple[str, str, str], ...] = ()
    reordered: tuple[str, ...] = ()
    are_named: bool = False
    renamed: tuple[tuple[str, str], ...] = ()


def argument_changes(old: Module, new: Module) -> ArgumentChanges:
    """Compare the arguments of two programs by their paths.

    Args:
        old, new: programs of one stage.

    Returns:
        no changes if a program has an argument without a path or two with the same path: paths then do not identify
        arguments.

    Example:
        >>> argument_changes(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)) == ArgumentChanges()
        True
    """
    listed: list[list[tuple[str, str]]] = []
    for module in (old, new):
        entry = module.entry_computation if module.computations else None
        arguments = [entry.instructions[n] for n in entry.parameters] if entry else []
        listed.append([(path_of(it), shape_text(it.shape, False)) for it in arguments])
    ours, theirs = map(dict, listed)
    if any("" in side or len(side) != len(rows) for side, rows in zip((ours, theirs), listed, strict=True)):
        return ArgumentChanges()
    before, after = ([path for path in one if path in other] for one, other in ((ours, theirs), (theirs, ours)))
    # Arguments of one type whose paths have the same names, in order: `state[0].mu`, `state[1][0].mu`.
    renamed: list[tuple[str, str]] = []
    left = [(path, shape, _NAME.findall(path)) for path, shape in theirs.items() if path not in ours]
    for path, shape in ours.items():
        names = _NAME.findall(path) if path not in theirs else []
        found = (n for n, (_, other, others) in enumerate(left) if shape == other and _has_all(names, others))
        if names and (number := next(found, None)) is not None:
            renamed.append((path, left[number][0]))
            left = left[number + 1 :]
    is_renamed = {path for pair in renamed for path in pair}
    return ArgumentChanges(
        tuple(path for path in theirs if path not in ours and path not in is_renamed),
        tuple(path for path in ours if path not in theirs and path not in is_renamed),
        tuple((path, one, theirs[path]) for path, one in ours.items() if theirs.get(path, one) != one),
        tuple(after) if before != after else (),
        bool(ours and theirs),
        tuple(renamed),
    )


def _has_all(names: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the longer list has the names of the shorter in order, with equal ends; a single name is not enough."""
    shorter, longer = sorted((names, others), key=len)
    left = iter(longer)
    is_whole = len(shorter) > 1 and (shorter[0], shorter[-1]) == (longer[0], longer[-1])
    return is_whole and all(name in left for name in shorter)
