"""Edits in words: what, how often, where in Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from hlodiff.diff.result import Edit, FieldChange, FusionChange
from hlodiff.diff.words import precision_in_words, sharding_in_words
from hlodiff.report.headline import NOT_DONATED
from hlodiff.report.instructions import added_in_words, named, short_attribute
from hlodiff.report.literals import literal_in_words
from hlodiff.report.numbers import bytes_in_words, many

PLACEMENT_FIELDS = ("memory_space", "sharding", "compute_type", "replica_groups", "alias", "execution_thread")
_WITH_LAYOUT = ("element_type", "shape", "memory_space", "compute_type")  # the layout goes with them
_BY_OPCODE = ("literal", "precision", "fusion_kind", "custom_call_target", "backend_config")
_MOST_OPERANDS = 8
_ONE_FUSION = ("added", "removed", "dissolved", "formed", "grew", "shrank")
_PARAMETER = re.compile(r"parameter\((\d+)\)")
_FIELD_WORDS = {
    "element_type": "element type",
    "memory_space": "memory space",
    "compute_type": "runs on",
    "replica_groups": "replica groups",
    "fusion_kind": "fusion kind",
    "custom_call_target": "custom call target",
    "backend_config": "backend config",
}
# Fields whose values have words.
_SPOKEN: dict[str, Callable[[str], str]] = {
    "literal": lambda text: literal_in_words(text or "none"),
    "precision": precision_in_words,
    "sharding": lambda text: sharding_in_words(text or "none"),
}


def change_in_words(change: FieldChange, edit: Edit | None = None) -> str:
    """One changed field: `memory space: device -> host`, `argument 0 is no longer donated`.

    Args:
        change: the field with both values.
        edit: the edit it belongs to: donation is said of its arguments.

    Returns:
        words without markup.

    Example:
        >>> change_in_words(FieldChange("sharding", "{replicated}", "{devices=[2,1]<=[2]}"))
        'sharding: replicated -> split over 2 devices on dimension 0'
    """
    old, new = change.old or "none", change.new or "none"
    if change.field == "alias":
        return _donation(old, new, edit)
    if change.field == "operands" and old == new:
        return f"operands: other values of the same names ({old if old.count(',') < _MOST_OPERANDS else '...'})"
    if change.field == "operands" and max(counts := (old.count(",") + 1, new.count(",") + 1)) > _MOST_OPERANDS:
        return (
            f"operands: other values among {counts[0]}"
            if counts[0] == counts[1]
            else f"operands: {counts[0]} -> {counts[1]}"
        )
    if spoken := _SPOKEN.get(change.field):
        told = spoken(change.old or ""), spoken(change.new or "")
        old, new = told if told[0] != told[1] else (old, new)  # where words do not tell them apart, as they are printed
    if change.field == "memory_space":
        old, new = old.strip('"'), new.strip('"')
    shortened = short_attribute(old), short_attribute(new)
    old, new = shortened if shortened[0] != shortened[1] else (old, new)
    name = _FIELD_WORDS.get(change.field, change.field.removeprefix("attribute:"))
    return f"{name}: {old} -> {new}"


def _donation(old: str, new: str, edit: Edit | None) -> str:
    sites = [site for pair in (edit.sites if edit else ()) for site in pair[:1] if site]
    numbers = [int(match.group(1)) for site in sites if (match := _PARAMETER.search(site.text))]
    many_ = len(numbers) > 1
    who = f"argument{'s' * many_} {_ranges(numbers)}" if numbers else "an argument"
    if edit and edit.op_name and len(numbers) == 1:
        who += f" ({edit.op_name})"
    verb = "are" if many_ else "is"
    if new in NOT_DONATED:
        return f"{who} {verb} no longer donated"
    if old in NOT_DONATED:
        return f"{who} {verb} donated now"
    return f"{who} {verb} donated to {new} instead of {old}"


def _ranges(numbers: Iterable[int]) -> str:
    """`0, 3 to 7`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    pairs = (", ".join(map(str, run)) if len(run) < 3 else f"{run[0]} to {run[-1]}" for run in runs)
    return ", ".join(pairs)


def edit_in_words(edit: Edit) -> str:
    """One edit as words, without markup and not yet escaped.

    Example:
        >>> edit_in_words(Edit("changed", ("alias",), changes=(FieldChange("alias", "result 1", "none"),)))
        'an argument is no longer donated'
    """
    site = edit.new or edit.old
    if edit.kind in ("added", "removed"):
        return added_in_words(site) if site else "; ".join(map(change_in_words, edit.changes))
    words = [_told(change, edit) for change in told_changes(edit)]
    if edit.fields == ("alias",):
        return "; ".join(words)
    if edit.kind == "moved" and edit.old and edit.new:
        words.append(f"from {edit.old.computation_name} to {edit.new.computation_name}")
    if not words and not edit.changes:
        words = [field.replace("_", " ") for field in edit.fields if field != "opcode"]
    opcode = next((change for change in edit.changes if change.field == "opcode"), None)
    head = f"{opcode.old} -> {opcode.new}" if opcode else named(site)
    return f"{head}: {'; '.join(words)}" if head and words else head or "; ".join(words)


def _told(change: FieldChange, edit: Edit) -> str:
    """A changed field; names of operands stand for one place only."""
    if change.field in ("operands", "attribute:root") and edit.count > 1:
        return change.field.removeprefix("attribute:")
    return change_in_words(change, edit)


def told_changes(edit: Edit) -> list[FieldChange]:
    """The changed fields that are told beside the opcode, where an instruction runs and lives first.

    Example:
        >>> told_changes(Edit("changed", ("layout",), changes=(FieldChange("layout", "{0}", "{1}"),)))[0].new
        '{1}'
    """
    beside = {"opcode", "computation", *_of_one_opcode(edit)}
    told = [change for change in edit.changes if change.field not in beside]
    if any(change.field in _WITH_LAYOUT for change in told):
        told = [change for change in told if change.field != "layout"]
    return sorted(told, key=lambda change: change.field not in PLACEMENT_FIELDS)


def told_fields(edit: Edit) -> tuple[str, ...]:
    """The names of all changed fields, without those that only one of two opcodes has.

    Example:
        >>> told_fields(Edit("changed", ("layout", "shape")))
        ('layout', 'shape')
    """
    left_out = _of_one_opcode(edit)
    return tuple(field for field in edit.fields if field not in left_out)


def _of_one_opcode(edit: Edit) -> set[str]:
    """Fields that an operation lost or got only because it is another one now: the opcodes say that already."""
    if "opcode" not in edit.fields:
        return set()
    return {
        change.field
        for change in edit.changes
        if (change.field in _BY_OPCODE or change.field.startswith("attribute:"))
        and ("none" in (change.old, change.new) or not (change.old and change.new))
    }


def fusion_lines(changes: tuple[FusionChange, ...]) -> list[str]:
    """Fusions that became others: those that merely came and went as one line, then equal sentences once.

    Example:
        >>> fusion_lines((FusionChange("removed", (), ()), FusionChange("removed", (), ())))
        ['2 removed']
    """
    plain: dict[str, int] = {}
    told: dict[str, int] = {}
    for change in changes:
        words = fusion_in_words(change)
        is_plain = words == f"fusion {change.kind}"
        counts, key = (plain, change.kind) if is_plain else (told, words)
        counts[key] = counts.get(key, 0) + 1
    first = [", ".join(f"{count} {kind}" for kind, count in plain.items())] if plain else []
    return first + [f"{count}x {words}" if count > 1 else words for words, count in told.items()]


def fusion_in_words(change: FusionChange) -> str:
    """Fusions that became others: `1 fusion became 2, 48.0 KiB more between them`.

    Example:
        >>> fusion_in_words(FusionChange("split", (), (), intermediate_bytes=1024))
        '0 fusions became 0, 1.0 KiB more between them'
    """
    if change.kind in _ONE_FUSION or (len(change.old), len(change.new)) == (1, 1):
        words = f"fusion {change.kind}"
    else:
        words = f"{many(len(change.old), 'fusion')} became {len(change.new)}"
    parts = [words]
    if change.moved_in:
        parts.append(f"{many(change.moved_in, 'instruction')} moved in")
    if change.moved_out:
        parts.append(f"{many(change.moved_out, 'instruction')} moved out")
    if change.intermediate_bytes:
        size = bytes_in_words(abs(change.intermediate_bytes))
        parts.append(f"{size} {'more' if change.intermediate_bytes > 0 else 'less'} between them")
    return ", ".join(parts)


def placement_lines(edits: tuple[Edit, ...]) -> list[str]:
    """Changes of placement in words, equal ones once with their count, most frequent first.

    Example:
        >>> placement_lines((Edit("changed", ("memory_space",), 3, changes=(FieldChange("memory_space", "a", "b"),)),))
        ['memory space: a -> b (3 instructions)']
    """
    counts: dict[str, int] = {}
    single: dict[str, None] = {}
    for edit in edits:
        for change in edit.changes:
            if change.field in PLACEMENT_FIELDS:
                words = change_in_words(change, edit)
                counts[words] = counts.get(words, 0) + edit.count
                if change.field == "alias":
                    single[words] = None
    ranked = sorted(counts, key=lambda words: -counts[words])
    return [words if words in single else f"{words} ({many(counts[words], 'instruction')})" for words in ranked]
