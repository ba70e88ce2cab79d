"""Walking a StableHLO module in the order in which its text has it, from the entry on."""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.ir.model import Module
from hlodiff.ir.stablehlo_printer import is_function


def text_order(module: Module) -> Iterator[tuple[int, int]]:
    """(computation, position) of every instruction: functions as first called, regions where their operation stands.

    Functions that nothing calls come last, in the module's order.
    """
    for function in called_order(module):
        for computation in owned(module, function):
            for position in range(len(module.computations[computation].instructions)):
                yield computation, position


def called_order(module: Module) -> list[int]:
    """Indices of the functions: the entry, then each at its first call, then those that nothing calls."""
    order: dict[int, None] = {}
    others = [n for n, c in enumerate(module.computations) if is_function(c) and n != module.entry]
    for start in (module.entry, *others):
        stack = [start]
        while stack:
            function = stack.pop()
            if function not in order:
                order[function] = None
                stack.extend(reversed(list(functions_called(module, function))))
    return list(order)


def functions_called(module: Module, function: int) -> Iterator[int]:
    """The functions that a function and its regions call, in text order, with repetitions."""
    for computation in owned(module, function):
        for it in module.computations[computation].instructions:
            yield from (n for n in it.called if is_function(module.computations[n]))


def owned(module: Module, function: int) -> Iterator[int]:
    """A function and all regions in it, each owner before its regions."""
    yield function
    for it in module.computations[function].instructions:
        for called in it.called:
            if not is_function(module.computations[called]):
                yield from owned(module, called)
