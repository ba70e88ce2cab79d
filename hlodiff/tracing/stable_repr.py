"""A `repr` that is the same in every process: without addresses, and with sets in sorted order."""

from __future__ import annotations

import dataclasses
import enum
import re
from typing import Any

_ADDRESS = re.compile(r"(?: at)? 0x[0-9a-fA-F]{4,}|(?<=id=)\d{6,}")
_LONGEST = 80
_DEEPEST = 4


def stable_repr(value: Any, depth: int = 0) -> str:
    """A static value as short text.

    Args:
        value: any object.
        depth: number of enclosing containers.

    Returns:
        at most 80 characters.

    Example:
        >>> stable_repr({"relu", "gelu"}), stable_repr(object())
        ("{'gelu', 'relu'}", 'an object of class object')
    """
    text = _text(value, depth)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _text(value: Any, depth: int) -> str:
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes):
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{kind.__name__}.{value.name}"
    if isinstance(value, type):
        return value.__qualname__
    import numpy as np  # takes 0.1 s, and the parent process only needs `without_addresses`

    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return f"{value.dtype.name}({value.item()!r})"
    if isinstance(value, np.ndarray | np.generic):
        return f"a NumPy array {value.dtype.name}[{','.join(map(str, value.shape))}]"
    if depth >= _DEEPEST:
        return "..."
    return _container(value, kind, depth) or _plain_repr(value, kind)


def _container(value: Any, kind: type, depth: int) -> str:
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(stable_repr(item, depth + 1) for item in value)) + "}"
    if kind is dict:
        return (
            "{" + ", ".join(f"{stable_repr(k, depth + 1)}: {stable_repr(v, depth + 1)}" for k, v in value.items()) + "}"
        )
    if kind is list:
        return "[" + ", ".join(stable_repr(item, depth + 1) for item in value) + "]"
    if kind is tuple:
        return "(" + ", ".join(stable_repr(item, depth + 1) for item in value) + ("," if len(value) == 1 else "") + ")"
    if dataclasses.is_dataclass(value):
        shown = [field for field in dataclasses.fields(value) if field.repr and hasattr(value, field.name)]
        inside = ", ".join(f"{field.name}={stable_repr(getattr(value, field.name), depth + 1)}" for field in shown)
        return f"{kind.__name__}({inside})"
    return ""


def _plain_repr(value: Any, kind: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if callable(value) and isinstance(name, str):
        return name
    if kind.__repr__ is object.__repr__:
        return f"an object of class {kind.__qualname__}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a broken repr must not stop the observed program
        return f"an object of class {kind.__qualname__}"
    own = re.compile(
        rf"(?: at)? ?(?<![0-9a-zA-Z])(?:0[xX])?0*(?:{id(value):x}|{id(value)})(?![0-9a-zA-Z])", re.IGNORECASE
    )
    return without_addresses(own.sub("", text))


def without_addresses(text: str) -> str:
    """Text without the addresses of objects.

    Example:
        >>> without_addresses("<function f at 0x7f5eff69e020>")
        '<function f>'
    """
    return _ADDRESS.sub("", text)
