"""Which objects JAX would find equal, told by numbers that hold no object longer than JAX does."""

from __future__ import annotations

import threading
import weakref
from itertools import count
from types import CodeType, MethodType
from typing import Any


class Identities:
    """Numbers for objects: two that JAX finds equal have the same one."""

    def __init__(self) -> None:
        self._next = count()
        self._lock = threading.RLock()
        self._weak: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._equal: dict[Any, int] = {}
        self._kept: dict[int, tuple[Any, int]] = {}

    def number(self, value: Any) -> int:
        """The number of a static value, by `==` where its class defines it, else by identity.

        Args:
            value: any object.

        Returns:
            a number that only says whether two are the same.
        """
        if isinstance(value, MethodType):  # kept whole, it would keep the object it is bound to
            value = ("method", self.number(value.__self__), self.number(value.__func__))
        with self._lock:
            if not has_equality(value):
                return self._by_identity(value)
            try:
                return self._equal.setdefault((type(value), value), len(self._equal) * 2)
            except Exception:  # no hash, or a comparison that is no truth value
                return self._by_identity(value)

    def _by_identity(self, value: Any) -> int:
        try:
            if value not in self._weak:
                self._weak[value] = next(self._next) * 2 + 1
            return self._weak[value]
        except Exception:  # cannot be referred to weakly: kept, so that its address is not used again
            return self._kept.setdefault(id(value), (value, next(self._next) * 2 + 1))[1]

    def code(self, code: CodeType | None) -> int:
        """The number of a function's code; equal code from equal lines has the same."""
        return -1 if code is None else self.number(code)


def has_equality(value: Any) -> bool:
    """Whether objects of this class are compared by `==` of their own, not by identity."""
    kind: Any = type(value)
    return kind.__eq__ is not object.__eq__
