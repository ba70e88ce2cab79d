"""Which scopes of JAX changed most: `transpose(jvp(step))/while/body/attention`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hlodiff.diff.result import Edit, ModuleDiff
from hlodiff.report.sheet import Scope

_MOST = 5
_NUMBER = re.compile(r"(?<=[_\[.])\d+|(?<=layer)\d+|(?<=block)\d+")
# What every name begins with says nothing: `jit(step)/jit(main)/`.
_OUTER = re.compile(r"^(?:(?:jit|pjit)\([^()]*\)/)+")


def most_changed(diff: ModuleDiff, most: int = _MOST) -> tuple[Scope, ...]:
    """The scopes with most edited instructions.

    Layers that differ in a number alone count together where there would be too many scopes otherwise.

    Args:
        diff: of one program.
        most: how many scopes.

    Returns:
        scopes, most edited first; what has no scope is left out.

    Example:
        >>> from hlodiff.ir.model import Module
        >>> most_changed(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ()
    """
    counts: Counter[str] = Counter()
    for edit in diff.edits:
        counts.update(_scopes(edit, diff))
    del counts[""]
    if len(counts) > most:
        merged: Counter[str] = Counter()
        for scope, count in counts.items():
            merged[_NUMBER.sub("*", scope)] += count
        counts = merged
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Scope(name, count) for name, count in ranked[:most])


def _scopes(edit: Edit, diff: ModuleDiff) -> Counter[str]:
    """How often each scope stands at the sites of an edit; a site in both programs is known by the new one."""
    if not edit.sites or edit.count != len(edit.sites):
        return Counter({scope_of(edit.op_name): edit.count})
    found: Counter[str] = Counter()
    for old, new in edit.sites:
        module, site = (diff.new, new) if new else (diff.old, old)
        if site:
            instruction = module.computations[site.computation].instructions[site.instruction]
            found[scope_of(instruction.op_name)] += 1
    return found


def scope_of(op_name: str | None) -> str:
    """The scope without the operation itself, which is its last part, and without what every name begins with.

    Example:
        >>> scope_of("jit(step)/jit(main)/attention/mul"), scope_of("jit(step)/a/mul;jit(step)/b/add")
        ('attention', 'a')
    """
    # What XLA merged into one instruction has several names, the first of which tells enough.
    inner = _OUTER.sub("", (op_name or "").partition(";")[0])
    return _split(inner).rpartition("\0")[0].replace("\0", "/")


def _split(name: str) -> str:
    """Parts joined by NUL: a slash in parentheses, as in `checkpoint(a/b)`, parts nothing."""
    depth, out = 0, []
    for char in name:
        depth += (char in "([") - (char in ")]")
        out.append("\0" if char == "/" and depth <= 0 else char)
    return "".join(out)


def scopes_in_words(scopes: Iterable[Scope]) -> str:
    """`attention 24, loss 3`.

    Example:
        >>> scopes_in_words((Scope("attention", 24), Scope("loss", 3)))
        'attention 24, loss 3'
    """
    return ", ".join(f"{scope.name} {scope.edited:,}" for scope in scopes)
