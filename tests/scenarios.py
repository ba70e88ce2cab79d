"""What the scenario tests share: short HLO texts, and a diff that is written down as a short list of lines."""

from __future__ import annotations

from hlodiff.differ import Edit, ModuleDiff
from hlodiff.differ import diff as compare_modules
from hlodiff.hlo import Module, read_text


def module(text: str, head: str = "") -> Module:
    """Read HLO; `text` without a header line is the entry computation's body or whole computations."""
    if "ENTRY" not in text:
        text = "ENTRY main {\n" + text + "\n}\n"
    return read_text(f"HloModule test{head}\n\n" + text)


def compare(old: str, new: str, head: str = "", new_head: str | None = None) -> ModuleDiff:
    """The diff of two texts; also proves that it replays, and that swapping the sides gives the mirror image (N8)."""
    first, second = module(old, head), module(new, head if new_head is None else new_head)
    found, mirror = compare_modules(first, second), compare_modules(second, first)
    assert [*found.replay().failures, *mirror.replay().failures] == []
    assert mirrored(found) == sorted(lines(mirror))
    return found


def lines(found: ModuleDiff) -> list[str]:
    """Each edit as `kind old-opcode->new-opcode fields xcount`."""
    return [line(edit) for edit in found.edits]


def line(edit: Edit) -> str:
    opcodes = [site.opcode if site else "" for site in (edit.old, edit.new)]
    names = opcodes[0] if opcodes[0] == opcodes[1] else "->".join(filter(None, opcodes))
    count = f" x{edit.count}" if edit.count > 1 else ""
    return " ".join(filter(None, [edit.kind, names, ",".join(edit.fields)])) + count


_MIRROR = {"added": "removed", "removed": "added"}


def mirrored(found: ModuleDiff) -> list[str]:
    """What the diff of the swapped sides must say, sorted."""
    swapped = []
    for edit in found.edits:
        kind = _MIRROR.get(edit.kind, edit.kind)
        sites = tuple((new, old) for old, new in edit.sites)
        swapped.append(line(Edit(kind, edit.fields, edit.count, sites)))  # type: ignore[arg-type]
    return sorted(swapped)
