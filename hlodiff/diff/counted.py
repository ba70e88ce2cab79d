"""Counts of both programs of a diff, made when somebody looks at them: counting reads every instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Generic, TypeVar

from hlodiff.diff.metrics import Counts, count, metrics_by_kind, metrics_of
from hlodiff.diff.weights import KINDS
from hlodiff.ir.model import Module

_Value = TypeVar("_Value")


class Later(Mapping[str, _Value], Generic[_Value]):
    """A mapping that is worked out at the first look."""

    def __init__(self, work: Callable[[], Mapping[str, _Value]]) -> None:
        self._work = work

    @cached_property
    def _found(self) -> Mapping[str, _Value]:
        return self._work()

    def __getitem__(self, name: str) -> _Value:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return repr(dict(self))


class Counted:
    """What can be counted in two programs, side by side."""

    def __init__(self, old: Module, new: Module) -> None:
        self._modules = (old, new)
        self.ops: Mapping[str, tuple[int, int]] = Later(self._ops)
        self.metrics: Mapping[str, tuple[float, float]] = Later(self._metrics)
        self.kinds: Mapping[str, Mapping[str, tuple[float, float]]] = Later(self._kinds)

    @cached_property
    def _counts(self) -> tuple[Counts, Counts]:
        old, new = self._modules
        return count(old), count(new)

    def _ops(self) -> Mapping[str, tuple[int, int]]:
        old, new = (counts.ops for counts in self._counts)
        return {name: (old[name], new[name]) for name in sorted({*old, *new})}

    def _metrics(self) -> Mapping[str, tuple[float, float]]:
        old, new = map(metrics_of, self._counts)
        return {name: (old.get(name, 0), new.get(name, 0)) for name in sorted({*old, *new})}

    def _kinds(self) -> Mapping[str, Mapping[str, tuple[float, float]]]:
        old, new = map(metrics_by_kind, self._counts)
        found: dict[str, dict[str, tuple[float, float]]] = {}
        for kind in (kind for kind in KINDS if kind in old or kind in new):
            ours, theirs = old.get(kind, {}), new.get(kind, {})
            found[kind] = {name: (ours.get(name, 0), theirs.get(name, 0)) for name in sorted({*ours, *theirs})}
        return found
