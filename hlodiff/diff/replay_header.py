"""What the header of a replayed program says: donation, the layout of the entry, everything else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hlodiff.diff.rebuilt import Rebuilt
from hlodiff.diff.script import Header, Script
from hlodiff.ir.model import Module

_LAYOUT = "entry_computation_layout"
_ALIASES = ("input_output_alias", "buffer_donor")
_ALIAS = re.compile(r"\{([\d,\s]*)\}\s*:\s*\((\d+),\s*\{([\d,\s]*)\}(?:,\s*([\w-]+))?\)")
_DONOR = re.compile(r"\((\d+),\s*\{([\d,\s]*)\}\)")


def check_header(script: Script, entry: Rebuilt, steps: Iterable[Header]) -> Iterator[str]:
    """Where the header is another one than the new program has.

    Args:
        script: the script.
        entry: the replayed entry computation.
        steps: the steps that set attributes of the module.

    Yields:
        one sentence for each attribute.
    """
    told = {step.name: step.value for step in steps}
    ours, theirs = dict(script.old.attributes) | told, dict(script.new.attributes)
    for name in sorted({*ours, *theirs} - {_LAYOUT, *_ALIASES}):
        if ours.get(name) != theirs.get(name):
            yield f"the header says {name}={ours.get(name)}, in the new program {theirs.get(name)}, and no edit says so"
    yield from _check_donations(script, entry)
    if _LAYOUT not in told:
        yield from _check_layout(script, entry)
    elif told[_LAYOUT] != theirs.get(_LAYOUT):
        yield f"the header's {_LAYOUT} is another one"


def _donations(module: Module) -> dict[int, dict[str, str]]:
    """For each argument which part of it (""  for all) is given away, and for which result."""
    found: dict[int, dict[str, str]] = {}
    for number, inside in _DONOR.findall(module.attribute("buffer_donor") or ""):
        found.setdefault(int(number), {})[inside.replace(" ", "")] = "any"
    for out, number, inside, kind in _ALIAS.findall(module.attribute("input_output_alias") or ""):
        words = f"{{{out.replace(' ', '')}}} {kind}".strip()
        found.setdefault(int(number), {})[inside.replace(" ", "")] = words
    return found


def _check_donations(script: Script, entry: Rebuilt) -> Iterator[str]:
    ours, theirs = _donations(script.old), _donations(script.new)
    for place, node in entry.nodes.items():
        it = script.new.entry_computation.instructions[place]
        before = script.old.entry_computation.instructions[node.old] if node.old >= 0 else None
        if before is None or not before.opcode == it.opcode == "parameter":
            continue  # an argument that came brings its donation along
        donated = ours.get(int(before.literal or 0), {})
        told = {name.partition(":")[2]: text for name, text in node.facts.items() if name.startswith("donation:")}
        after = {inside: text for inside, text in {**donated, **told}.items() if text is not None}
        if after != theirs.get(int(it.literal or 0), {}):
            yield f"the donation of argument {it.literal} (%{it.name}) changed, and no edit says so"


def _check_layout(script: Script, entry: Rebuilt) -> Iterator[str]:
    """The layout of the entry says again what arguments and root say; where those are as they were, so is it."""
    parts = [_parts(module.attribute(_LAYOUT)) for module in (script.old, script.new)]
    if parts[0] is None or parts[1] is None:
        return
    (olds, old_result), (news, new_result) = parts[0], parts[1]
    after = script.new.entry_computation
    for place, node in entry.nodes.items():
        it = after.instructions[place]
        before = script.old.entry_computation.instructions[node.old] if node.old >= 0 else None
        if before is None or it.opcode != "parameter" or before.opcode != "parameter" or before.shape != it.shape:
            continue
        ours, theirs = _at(olds, before.literal), _at(news, it.literal)
        if ours != theirs:
            yield f"the header gives argument {it.literal} (%{it.name}) another layout, and no edit says so"
    roots = script.old.entry_computation, after
    if roots[0].instructions[roots[0].root].shape == after.instructions[after.root].shape and old_result != new_result:
        yield "the header gives the result another layout, and no edit says so"


def _at(parts: list[str], number: str | None) -> str:
    return parts[int(number or 0)] if int(number or 0) < len(parts) else ""


def _parts(text: str | None) -> tuple[list[str], str] | None:
    """`{(f32[8]{0}, s32[])->f32[8]{0}}` as its arguments and its result."""
    plain = re.sub(r"/\*.*?\*/", "", text or "").strip()
    if not plain.startswith("{(") or not plain.endswith("}"):
        return None
    end = _closing(plain)
    result = plain[end + 1 : -1].strip().removeprefix("->").strip()
    return list(_split(plain[2:end])), result


def _closing(plain: str) -> int:
    """Where the bracket behind the first one closes."""
    depth = 0
    for end, letter in enumerate(plain[1:-1], 1):
        depth += (letter in "({[") - (letter in ")}]")
        if depth == 0:
            return end
    return len(plain) - 1


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text.strip():
        yield text[start:].strip()
