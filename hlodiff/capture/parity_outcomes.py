"""Parity as it is asked for and answered: records that cross the border between processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParityRequest:
    """One case that is to be run for real on this machine's CPU.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: the CPU target that it runs on, `cpu` or `cpu-8`.
        compile_for: a target for which both ways are compiled too; "" for none.

    Example:
        >>> ParityRequest("f", "", "cpu").compile_for
        ''
    """

    function: str
    case: str
    target: str
    compile_for: str = ""


@dataclass(frozen=True, slots=True)
class CalledProgram:
    """A program that a call compiled, and what `.lower()` of the same function with the same arguments gives.

    Args:
        name: of the jitted function.
        place: `file:line` of its definition, relative to the project.
        called_at: `file:line` of the call.
        called: StableHLO that the call compiled.
        ahead: StableHLO that is lowered ahead of time; "" where that fails.
        problem: why it cannot be lowered ahead of time.
        context: what stood around the call and does not stand around `.lower()`, as (name, value) pairs.
        compiled_called, compiled_ahead: compiled HLO of both ways for `compile_for`; "" where it was not asked for.
    """

    name: str
    place: str
    called_at: str
    called: str
    ahead: str = ""
    problem: str = ""
    context: tuple[tuple[str, str], ...] = ()
    compiled_called: str = ""
    compiled_ahead: str = ""


@dataclass(frozen=True, slots=True)
class Called:
    """What a real call of a case compiled.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it ran on.
        programs: of jitted functions, in the order in which they were compiled.
        eager: operations that ran by themselves, outside of every jitted function, by name.
        jitted_here: whether the function jits nothing itself and was called as `jax.jit(function)`.
    """

    function: str
    case: str
    target: str
    programs: tuple[CalledProgram, ...]
    eager: tuple[str, ...] = ()
    jitted_here: bool = False
