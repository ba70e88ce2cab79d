"""JSON inside programs (backend configurations), which a stranger may have written."""

from __future__ import annotations

import json
import re
from typing import Any

_MAX_DEPTH = 100
_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]+|[\]}]+', re.DOTALL)


def load_json(text: str) -> Any:
    """Read JSON that is nested at most 100 deep, so that what reads the value may use recursion.

    Raises:
        ValueError: no JSON, nested deeper, or with a number of more digits than Python converts.

    Example:
        >>> load_json('{"a": [1]}')
        {'a': [1]}
    """
    if text.count("{") + text.count("[") > _MAX_DEPTH:
        depth = 0
        for found in _BRACKETS.finditer(text):
            first = text[found.start()]
            if first in "[{":
                depth += found.end() - found.start()
                if depth > _MAX_DEPTH:
                    raise ValueError(f"nested more than {_MAX_DEPTH} deep")
            elif first in "]}":
                depth -= found.end() - found.start()
    return json.loads(text)
