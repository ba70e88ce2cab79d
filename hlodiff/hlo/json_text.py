"""Untrusted JSON inside programs (backend configurations)."""

from __future__ import annotations

import json
import re
from typing import Any

from hlodiff.hlo.grammar import STRING

_MAX_DEPTH = 100
_BRACKETS = re.compile(STRING + r"?|[\[{]+|[\]}]+", re.DOTALL)


def load_json(text: str) -> Any:
    """Read JSON nested at most 100 levels deep, so that callers may recurse over the value.

    Raises:
        ValueError: not JSON, nested deeper, or a number with more digits than Python converts.

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


def aliased_buffers(config: Any) -> list[dict[str, Any]]:
    """Groups of operands and results of a custom call that share memory, as XLA for TPU writes them.

    Args:
        config: a backend configuration.

    Returns:
        its groups, each with numbers as text under "indices"; [] if they are not as XLA writes them.

    Example:
        >>> aliased_buffers({"aliasing_operands": {"lists": [{"indices": ["0", "1"]}]}}), aliased_buffers([1])
        ([{'indices': ['0', '1']}], [])
    """
    operands = config.get("aliasing_operands") if isinstance(config, dict) else None
    lists = operands.get("lists") if isinstance(operands, dict) else None
    return lists if isinstance(lists, list) and all(map(_is_group, lists)) else []


def _is_group(group: Any) -> bool:
    """Accepts numbers of at most 9 digits: Python does not convert those of thousands."""
    indices = group.get("indices") if isinstance(group, dict) else None
    return isinstance(indices, list) and all(
        isinstance(index, str) and len(index) < 10 and index.isascii() and index.removeprefix("-").isdecimal()
        for index in indices
    )
