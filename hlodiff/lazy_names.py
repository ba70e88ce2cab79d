"""Names of a package that are imported when somebody first asks for them (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, home: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package.

    Args:
        package: its `__name__`.
        home: the module of each name, inside the package.

    Returns:
        a function that imports a name, and raises `AttributeError` for one that the package does not have. Hide it from
        type checkers, which would otherwise accept every misspelled name.

    Example:
        >>> lazy_names("hlodiff.hlo", {"read_hlo": "parser"})("read_hlo").__module__
        'hlodiff.hlo.parser'
    """

    def get(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return get
