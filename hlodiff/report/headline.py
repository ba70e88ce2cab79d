"""One line for a changed program: what kind of change, and how large."""

from __future__ import annotations

from hlodiff.diff.compared import Compared
from hlodiff.diff.result import Edit, ModuleDiff
from hlodiff.report.numbers import many

_INTERFACE = frozenset(["alias"])
_PLACEMENT = frozenset(["memory_space", "sharding", "compute_type", "replica_groups", "execution_thread"])
_NUMERICS = frozenset(["element_type", "precision", "literal"])
_ORDER = ("interface", "placement", "numerics", "structure")


def headline(program: Compared) -> str:
    """Kind and size of a change.

    Args:
        program: one with status "changed".

    Returns:
        one line without markup.

    Example:
        >>> headline(Compared("f", "cpu", "compiled", "identical"))
        'the same program'
    """
    diff = program.diff
    if diff is None or diff.identical:
        return "the same program" + _other_channels(diff)
    summary = diff.summary
    counts = [f"{count:,} {kind}" for kind, count in summary.items() if count]
    size = f"{', '.join(counts)} of {many(max(diff.old.instruction_count(), 1), 'instruction')}"
    return f"{', '.join(kinds_of_change(diff))}: {size}{_other_channels(diff)}"


def kinds_of_change(diff: ModuleDiff) -> tuple[str, ...]:
    """The kinds of a change, each once: interface, placement, numerics, structure; or detail alone."""
    found = {kind for edit in diff.edits for kind in _kinds(edit)}
    return tuple(kind for kind in _ORDER if kind in found) or ("detail",)


def _kinds(edit: Edit) -> list[str]:
    kinds = [] if edit.kind == "changed" else ["structure"]
    # What was added or removed has no fields that changed; what moved may have changed its place with it.
    for field in edit.fields if edit.kind in ("changed", "moved") else ():
        if field in _INTERFACE or (field in ("shape", "element_type", "sharding") and _is_argument(edit)):
            kinds.append("interface")
        elif field in _PLACEMENT:
            kinds.append("placement")
        elif field in _NUMERICS:
            kinds.append("numerics")
        elif field in ("opcode", "operands", "shape", "fusion_kind", "custom_call_target"):
            kinds.append("structure")
        else:
            kinds.append("detail")
    return kinds


def _is_argument(edit: Edit) -> bool:
    sites = [site for site in (edit.old, edit.new) if site]
    return bool(sites) and all(site.opcode == "parameter" for site in sites)


def _other_channels(diff: ModuleDiff | None) -> str:
    if diff is None:
        return ""
    channels = [("schedule", diff.schedule), ("tuning", diff.tuning)]
    parts = [f"{name} differs in {many(sum(e.count for e in edits), 'place')}" for name, edits in channels if edits]
    return f" ({', '.join(parts)})" if parts else ""
