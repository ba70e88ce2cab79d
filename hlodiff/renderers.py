"""Renderers of differences and reports for `print` and notebook cells.

Both records are in a lower layer than their renderers, so they look the renderer up here; `import hlodiff` registers
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RENDERERS: dict[str, Callable[[Any], str]] = {}
"""Renderers by form, "text" and "html"."""


class Rendered:
    """What `print` and notebooks ask of a record that has renderers."""

    __slots__ = ()

    def __str__(self) -> str:
        """The short text, as commands print it."""
        return RENDERERS["text"](self)

    def _repr_html_(self) -> str:
        """The same with its colours, for a notebook."""
        return RENDERERS["html"](self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Both, for notebooks that choose."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}
