"""What kind of change an edit is: interface, placement, numerics, structure. The headline names them."""

from __future__ import annotations

import re

from hlodiff.diff.metrics import BOOKKEEPING
from hlodiff.diff.result import Edit, ModuleDiff, Site

_FLOATS = re.compile(r"= b?f\d")
ORDER = ("interface", "placement", "numerics", "structure")
_PLACEMENT = frozenset(["memory_space", "sharding", "compute_type", "replica_groups", "execution_thread"])
_NUMERICS = frozenset(["element_type", "precision", "literal"])
_STRUCTURE = frozenset(["opcode", "operands", "shape", "fusion_kind", "custom_call_target"])
# They follow other instructions: a fusion, a tuple or a constant comes, goes and changes its shape with what uses it.
_FOLLOWERS = BOOKKEEPING | {"fusion", "constant", "broadcast", "broadcast_in_dim"}
_SHARDING = ("sdy.sharding_constraint", "sdy.reshard")
# The calls that bring work to the host's processor, and data to its memory and back.
_HOST_CALLS = ("HostExecute", "MoveToHost", "MoveToDevice", "annotate_device_placement", "Sharding")


def kinds_of_change(diff: ModuleDiff) -> tuple[str, ...]:
    """The kinds of a change, each once.

    What merely follows (a tuple, a fusion's shape) counts only where nothing else is there to say.

    Args:
        diff: a diff with edits.

    Returns:
        some of interface, placement, numerics and structure, in this order; or "detail" alone.

    Example:
        >>> from hlodiff.ir.model import Module
        >>> kinds_of_change(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ('detail',)
    """
    found = [kind for edit in diff.edits for kind in _kinds(edit, diff)]
    strong = {kind for kind, follows in found if not follows}
    chosen = strong or {kind for kind, _ in found}
    return tuple(kind for kind in ORDER if kind in chosen) or ("detail",)


def is_argument(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether an edit is about an argument of the whole program, not of a computation inside it."""
    sides = ((edit.old, diff.old), (edit.new, diff.new))
    return all(site is not None and _is_entry_parameter(site, module.entry) for site, module in sides)


def _is_entry_parameter(site: Site, entry: int) -> bool:
    return site.opcode == "parameter" and site.computation == entry


def _kinds(edit: Edit, diff: ModuleDiff) -> list[tuple[str, bool]]:
    """Kinds of one edit, each with whether it merely follows from others."""
    site = edit.new or edit.old
    follows = site is not None and (site.opcode in _FOLLOWERS or site.opcode.endswith("-done"))
    if edit.kind in ("added", "removed"):
        return [("placement" if site and _is_placing(site) else _of_opcode(site), follows)]
    fields = [field for field in edit.fields if field != "computation"]
    found = [_of_field(field, edit, diff, follows) for field in fields]
    if edit.kind == "moved" and "compute_type" not in fields:
        found.append(("structure", follows))
    return found


def _of_field(field: str, edit: Edit, diff: ModuleDiff, follows: bool) -> tuple[str, bool]:
    if field == "alias" or (not edit.sites and field in ("layout", "shape")):
        return "interface", False
    if field in ("shape", "element_type", "sharding") and is_argument(edit, diff):
        return "interface", False
    if field in _PLACEMENT:
        return "placement", False
    if field in _NUMERICS:
        return "numerics", follows and field != "literal"
    return ("structure", follows) if field in _STRUCTURE else ("detail", True)


def _of_opcode(site: Site | None) -> str:
    """A cast to floating point changes numbers; one between integers is arithmetic of indices."""
    return "numerics" if site and site.opcode == "convert" and _FLOATS.search(site.text) else "structure"


def _is_placing(site: Site) -> bool:
    """Whether an instruction only says where something runs or lies."""
    is_call = site.opcode.replace("_", "-").startswith("custom-call") or site.opcode.startswith("async")
    return site.opcode in _SHARDING or (is_call and any(target in site.text for target in _HOST_CALLS))
