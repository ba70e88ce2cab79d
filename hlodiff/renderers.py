"""Renderers of differences and reports for `print` and notebook cells.

Both records are in a lower layer than their renderers, so they look the renderer up here; `import hlodiff` registers
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RENDERERS: dict[str, Callable[[Any], str]] = {}
"""Renderers by form, "text" and "html"."""
