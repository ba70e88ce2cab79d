"""URL fragments in a page, the same in the page, in comments that link to it, and in later runs.

`#train_step/cpu/compiled` is a program, `#train_step/cpu` its compiled program or else the StableHLO, `#train_step` the
function. `/edit-3` after it is the third change of the list; `/edit-1a2b3c4d` is the same change wherever it is in the
list, also after lines and other changes were added or removed.
"""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import quote

from hlodiff.report.grouping import EditGroup
from hlodiff.report.lines import printable

_LINE = re.compile(r":\d+")


def program_address(name: str, target: str | None = None, stage: str = "") -> str:
    """The address of a program in a page, not yet escaped.

    Example:
        >>> program_address("train_step", "cpu", "compiled"), program_address("old.hlo")
        ('train_step/cpu/compiled', 'old.hlo')
    """
    return "/".join(printable(part) for part in (name, target, stage) if part)


def fragment(address: str) -> str:
    """An address as a URL fragment, escaped so that nothing in it ends a link in HTML or Markdown.

    Example:
        >>> fragment("loss/case 1(a)/cpu")
        '#loss/case%201%28a%29/cpu'
    """
    return "#" + quote(address, safe="/-_.~,@+=:", errors="replace")


def edit_address(edit_group: EditGroup) -> str:
    """The last part of a change's address, stable while it is the same change in the same Python function.

    Example:
        >>> edit_address(EditGroup(("compiled", "added", "f.py:3 (f)"), "added", 1, "", ""))
        'edit-9c8b5aa4'
    """
    return f"edit-{sha256(_LINE.sub('', repr(edit_group.key)).encode('utf-8', 'replace')).hexdigest()[:8]}"
