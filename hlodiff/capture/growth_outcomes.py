"""Growth as it is asked for and answered: records that cross the border between processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GrowthRequest:
    """One case that is to be lowered at all its sizes.

    Args:
        function: name of a registered function.
        case: name of one of its cases; "" where it has only one.
        target: what to lower for.
        compile: whether XLA is asked to compile it too.
        sizes: parameters and sizes in place of those of the case; those of the case where empty.

    Example:
        >>> GrowthRequest("f", "", "cpu").compile
        False
    """

    function: str
    case: str
    target: str
    compile: bool = False
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Lowered:
    """The program at one size.

    Args:
        size: of the parameter.
        stablehlo: StableHLO text with locations.
        compiled: compiled HLO text; "" where XLA was not asked.
    """

    size: int
    stablehlo: str
    compiled: str = ""


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A large array that a function took from outside of its arguments.

    Args:
        digest: a hash of its bytes.
        name: the variable, as the function knows it.
        where: `file:line` of the function that uses it.
    """

    digest: str
    name: str
    where: str


@dataclass(frozen=True, slots=True)
class Sized:
    """The programs of one parameter, in ascending order of its sizes."""

    parameter: str
    programs: tuple[Lowered, ...]
    tables: tuple[NamedTable, ...] = ()


@dataclass(frozen=True, slots=True)
class Grown:
    """A case at all its sizes.

    Args:
        function: name of the registered function.
        case: name of the case.
        target: what it was lowered for.
        parameters: one record for each parameter that `grow` names.
        limits: how each quantity may grow at most, by its name.
    """

    function: str
    case: str
    target: str
    parameters: tuple[Sized, ...]
    limits: dict[str, str]
