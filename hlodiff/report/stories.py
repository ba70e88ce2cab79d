"""What happened, in JAX's words: rematerialisation, another random number generator, weights that became constants."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from hlodiff.differ.metrics import LARGE_LITERAL_BYTES
from hlodiff.differ.regions import CARRIERS
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.hlo.model import Instruction, Module
from hlodiff.report.edits import NOT_DONATED
from hlodiff.report.wording import format_bytes, format_pair, many, place

_REMATERIALISED = "rematted_computation"
_GENERATORS = (("threefry2x32", re.compile(r"threefry")), ("rng_bit_generator", re.compile(r"rng[_-]bit[_-]generator")))
_WRITES = ("dynamic-update-slice", "dynamic_update_slice", "scatter")
_MOST_PATHS = 3
# What a path begins with: `params` of `params['blocks'][0].weight`.
_ROOT = re.compile(r"[\w<>]+")


def stories(diff: ModuleDiff) -> Iterator[str]:
    """Sentences about what happened, most important first, without markup.

    Args:
        diff: of two programs.

    Example:
        >>> list(stories(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    yield from _donations(diff)
    yield from _rematerialised(diff)
    yield from _generators(diff)
    yield from _constants(diff)
    yield from _written_buffers(diff)


def _donations(diff: ModuleDiff) -> Iterator[str]:
    changed = [(edit, edit.changes[0]) for edit in diff.reported if edit.changes and edit.changes[0].field == "alias"]
    lost = [edit for edit, change in changed if change.new in NOT_DONATED]
    won = [edit for edit, change in changed if change.old in NOT_DONATED]
    for edits, word in ((lost, "no longer donated"), (won, "donated now")):
        count = sum(edit.count for edit in edits)
        if count:
            paths = format_paths(path for edit in edits for path in _paths(edit, diff))
            yield f"{many(count, 'argument')} {'is' if count == 1 else 'are'} {word}{f': {paths}' if paths else ''}"


def _paths(edit: Edit, diff: ModuleDiff) -> Iterator[str]:
    for old, new in edit.sites:
        module, site = (diff.old, old) if old else (diff.new, new)
        if site is not None:
            yield _instruction(module, site).op_name


def format_paths(paths: Iterable[str]) -> str:
    """Up to three paths of arguments; of more only how many begin with each name.

    Example:
        >>> format_paths(["cache['keys']", "cache['values']"])
        "cache['keys'], cache['values']"
        >>> format_paths(f"params['w{n}']" for n in range(4))
        'params (4)'
    """
    known = [path for path in dict.fromkeys(paths) if path]
    if len(known) <= _MOST_PATHS:
        return ", ".join(known)
    roots = Counter(match[0] for path in known if (match := _ROOT.match(path)))
    words = [f"{name} ({count})" if count > 1 else name for name, count in roots.most_common(_MOST_PATHS)]
    rest = sum(roots.values()) - sum(count for _, count in roots.most_common(_MOST_PATHS))
    return ", ".join(words) + (f" and {rest} more" if rest else "")


def _rematerialised(diff: ModuleDiff) -> Iterator[str]:
    """What is computed again in the backward pass: all of it in StableHLO, in compiled programs what the edits say."""
    if diff.old.stage == "stablehlo":
        old, new = (sum(map(_is_rematerialised, _work(module))) for module in (diff.old, diff.new))
    else:
        counts: Counter[str] = Counter()
        for edit in diff.reported:
            site = edit.new or edit.old
            if _REMATERIALISED in (edit.op_name or "") and site and site.opcode not in CARRIERS:
                counts[edit.kind] += edit.count
        old, new = counts["removed"], counts["added"]
    if new > 0 and old == 0:
        yield f"{many(new, 'operation')} {_are(new)} computed again in the backward pass (rematerialisation)"
    elif old > 0 and new == 0:
        yield f"{many(old, 'operation')} {_are(old)} no longer computed again in the backward pass (rematerialisation)"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _work(module: Module) -> Iterator[Instruction]:
    for computation in module.computations:
        yield from (it for it in computation.instructions if it.opcode not in CARRIERS)


def _is_rematerialised(it: Instruction) -> bool:
    return _REMATERIALISED in it.op_name


def _generators(diff: ModuleDiff) -> Iterator[str]:
    """Another implementation of random numbers, where the edits hold both."""
    found: tuple[set[str], set[str]] = (set(), set())
    for edit in diff.reported:
        if edit.kind not in ("added", "removed") and "opcode" not in edit.fields:
            continue
        for names, module, site in zip(found, (diff.old, diff.new), (edit.old, edit.new), strict=True):
            if site is not None:
                name = edit.op_name if site is (edit.new or edit.old) else _instruction(module, site).op_name
                words = f"{name} {site.opcode} {site.text}"
                names.update(name for name, pattern in _GENERATORS if pattern.search(words))
    gone, came = found[0] - found[1], found[1] - found[0]
    if gone and came:
        yield f"random numbers come from {', '.join(sorted(came))} instead of {', '.join(sorted(gone))}"


def _constants(diff: ModuleDiff) -> Iterator[str]:
    """Large constants that were added, what they replace, and the arguments of their shapes that were removed."""
    size, count, old_size, old_count = 0, 0, 0, 0
    shapes: set[tuple[str, tuple[int, ...]]] = set()
    first: Edit | None = None
    for edit in diff.reported:
        if edit.kind == "added" and edit.new and edit.new.opcode == "constant":
            shape = _instruction(diff.new, edit.new).shape
            if shape.bytes >= LARGE_LITERAL_BYTES:
                size += shape.bytes * edit.count
                count += edit.count
                shapes.add((shape.element_type, shape.dimensions))
                first = first or edit
        elif edit.kind == "removed" and edit.old and edit.old.opcode == "constant":
            shape = _instruction(diff.old, edit.old).shape
            if shape.bytes >= LARGE_LITERAL_BYTES:
                old_size += shape.bytes * edit.count
                old_count += edit.count
    if first is None:
        return
    gone = [
        it.op_name
        for edit in diff.reported
        if edit.kind == "removed"
        and edit.old
        and edit.old.opcode == "parameter"
        and edit.old.computation == diff.old.entry
        for it in [_instruction(diff.old, edit.old)]
        if (it.shape.element_type, it.shape.dimensions) in shapes
    ]
    where = place(first.source)
    at = f", {where}" if where else ""
    if old_count:
        sizes = format_pair(format_bytes(old_size), format_bytes(size))
        words = f"{many(count, 'large constant')} instead of {old_count} ({sizes}{at})"
    else:
        words = f"{many(count, 'large constant')} added ({format_bytes(size)}{at})"
    yield words + (f", {many(len(gone), 'argument')} gone: {format_paths(gone)}" if gone else "")


def _written_buffers(diff: ModuleDiff) -> Iterator[str]:
    """A buffer that is written in place and lies in another order now: each write may touch far more memory."""
    for edit in diff.reported:
        if edit.kind != "changed" or "layout" not in edit.fields or "element_type" in edit.fields or not edit.new:
            continue
        if edit.new.opcode in _WRITES or _is_write_fusion(edit.new, diff.new):
            change = next(change for change in edit.changes if change.field == "layout")
            where = place(edit.source)
            words = f"the buffer that {edit.new.opcode} writes has another layout ({change.old} -> {change.new})"
            yield f"{words}{f' at {where}' if where else ''}"
            return


def _is_write_fusion(site: Site, module: Module) -> bool:
    it = _instruction(module, site)
    bodies = [module.computations[callee] for callee in it.called] if it.opcode == "fusion" else []
    return any(body.instructions[body.root].opcode in _WRITES for body in bodies)


def _instruction(module: Module, site: Site) -> Instruction:
    return module.computations[site.computation].instructions[site.instruction]
