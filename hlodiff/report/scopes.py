"""The scopes of a program, as JAX names them, in which most instructions were edited."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hlodiff.differ.result import ModuleDiff
from hlodiff.report.function_view import Scope

_MOST = 5
_NUMBER = re.compile(r"(?<=[_\[.])\d+|(?<=layer)\d+|(?<=block)\d+")
# The prefix of every name is uninteresting: `jit(step)/jit(main)/`.
_OUTER = re.compile(r"^(?:(?:jit|pjit)\([^()]*\)/)+")


def most_changed(diff: ModuleDiff) -> tuple[Scope, ...]:
    """The scopes with the most edited instructions.

    If there would be too many scopes, layers that differ only in a number count together.

    Args:
        diff: difference of one program.

    Returns:
        scopes, most edited first; instructions without a scope are skipped.

    Example:
        >>> from hlodiff.hlo.model import Module
        >>> most_changed(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ()
    """
    counts: Counter[str] = Counter()
    for edit in diff.reported:
        if not edit.sites or edit.count != len(edit.sites):
            counts[scope_of(edit.op_name)] += edit.count
            continue
        for old, new in edit.sites:  # an instruction on both sides counts for its new scope
            module, site = (diff.new, new) if new else (diff.old, old)
            if site:
                counts[scope_of(site.instruction_in(module).op_name)] += 1
    del counts[""]
    if len(counts) > _MOST:
        merged: Counter[str] = Counter()
        for scope, count in counts.items():
            merged[_NUMBER.sub("*", scope)] += count
        counts = merged
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Scope(name, count) for name, count in ranked[:_MOST])


def scope_of(op_name: str | None) -> str:
    """The scope without its last part (the operation itself) and without the common prefix.

    Example:
        >>> scope_of("jit(step)/jit(main)/attention/mul"), scope_of("jit(step)/a/mul;jit(step)/b/add")
        ('attention', 'a')
    """
    # An instruction merged from several by XLA has several names; the first is enough.
    inner = _OUTER.sub("", (op_name or "").partition(";")[0])
    depth, parts = 0, []
    for char in inner:  # a slash in parentheses, as in `checkpoint(a/b)`, is not a separator
        depth += (char in "([") - (char in ")]")
        parts.append("\0" if char == "/" and depth <= 0 else char)
    return "".join(parts).rpartition("\0")[0].replace("\0", "/")


def format_scopes(scopes: Iterable[Scope]) -> str:
    """`attention 24, loss 3`.

    Example:
        >>> format_scopes((Scope("attention", 24), Scope("loss", 3)))
        'attention 24, loss 3'
    """
    return ", ".join(f"{scope.name} {scope.edited:,}" for scope in scopes)
