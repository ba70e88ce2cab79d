"""Names of a package that are imported when somebody first asks for them (PEP 562).

A package lists them once, as imports under `if TYPE_CHECKING:`. Type checkers read that list, and so does this.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec

_EXPORT = re.compile(r"^ +from (hlodiff[\w.]*) import (\w+) as \2$", re.MULTILINE)


def exports(package: ModuleSpec) -> dict[str, str]:
    """The module of each name that a package imports on demand.

    Example:
        >>> import hlodiff.hlo
        >>> exports(hlodiff.hlo.__spec__)["read_hlo"]
        'hlodiff.hlo.parser'
    """
    source = package.loader.get_data(package.origin).decode()  # type: ignore[union-attr]
    return {name: module for module, name in _EXPORT.findall(source)}


def lazy_names(package: ModuleSpec) -> Callable[[str], object]:
    """The `__getattr__` of a package.

    Args:
        package: its `__spec__`.

    Returns:
        a function that imports a name, and raises `AttributeError` for one that the package does not have. Hide it from
        type checkers, which would otherwise accept every misspelled name.

    Example:
        >>> import hlodiff.hlo
        >>> lazy_names(hlodiff.hlo.__spec__)("read_hlo").__module__
        'hlodiff.hlo.parser'
    """
    home = exports(package)

    def get(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package.name!r} has no attribute {name!r}")
        return getattr(import_module(home[name]), name)

    return get
