"""What shows a difference or a report where Python shows values: `print`, and the cells of a notebook.

Both records are below all that makes reports of them. So they ask here, and `import hlodiff` says what to import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RENDERERS: dict[str, Callable[[Any], str]] = {}
"""By form, "text" and "html"."""
