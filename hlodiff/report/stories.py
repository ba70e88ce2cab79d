"""What happened, in JAX's words: rematerialisation, another random number generator, weights that became constants."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlodiff.differ.arguments import path_of
from hlodiff.differ.classify import is_argument
from hlodiff.differ.loops import UNKNOWN, loops_of
from hlodiff.differ.metrics import LARGE_LITERAL_BYTES
from hlodiff.differ.placement import donations, format_partition
from hlodiff.differ.prepare import ORDER
from hlodiff.differ.regions import CARRIERS
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.differ.shape_literals import means
from hlodiff.hlo.model import Instruction, Module
from hlodiff.report.edits import ANY_OUTPUT, NOT_DONATED
from hlodiff.report.wording import format_bytes, format_pair, many, place

_REMATERIALISED = "rematted_computation"
_THREEFRY, _RNG = "threefry2x32", "rng_bit_generator"
_RNG_OPCODE = re.compile(r"^rng[_-]bit[_-]generator$")
_EMITTER = re.compile(r'\bfusion_config\.kind="(\w+)"')
_WRITES = ("dynamic-update-slice", "dynamic_update_slice", "scatter")
_MOST_PATHS = 3
_LEAST_BUFFER = 4096  # bytes; what is smaller has the size of many things
_NEARLY = 0.01
RESHARDED = "sharded differently"
"""What is said of arguments of another sharding."""
_MOST_TYPES = 2
# The parts of `params['blocks'][0].weight`.
_PARTS = re.compile(r"\[(?:'[^']*'|\"[^\"]*\"|[^\]])*\]|\.?[^.\[]+")


def stories(diff: ModuleDiff, packages: Sequence[str] = ()) -> Iterator[str]:
    """Sentences about what happened, most important first, without markup.

    Args:
        diff: of two programs.
        packages: libraries whose own line is named, see `shown_place`.

    Example:
        >>> list(stories(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    yield from _arguments(diff)
    yield from _results(diff)
    yield from _resharded(diff)
    yield from _turns(diff)
    yield from _means(diff)
    yield from _constants(diff, packages)
    yield from _donations(diff)
    yield from _rematerialised(diff)
    yield from _generators(diff)
    yield from _written_buffers(diff, packages)


def _arguments(diff: ModuleDiff) -> Iterator[str]:
    """Arguments that are new, gone or of another type, by their paths; one sentence."""
    found = diff.arguments
    became_constants = set(_replaced_by_constants(diff))
    added, removed = list(found.added), [path for path in found.removed if path not in became_constants]
    if not (found.are_named or found.added or found.removed):
        (added, unnamed_added), (removed, unnamed_removed) = _edited_arguments(diff)
        removed = [path for path in removed if path not in became_constants]
    else:
        unnamed_added = unnamed_removed = 0
    words = []
    if added or unnamed_added:
        words.append(_with_paths(many(len(added) + unnamed_added, "new argument"), added))
    if removed or unnamed_removed:
        words.append(_with_paths(f"{many(len(removed) + unnamed_removed, 'argument')} gone", removed))
    if found.retyped:
        each = " on each device" if min(map(_partitions, (diff.old, diff.new))) > 1 else ""
        shown = [f"{path} {format_pair(old, new)}" for path, old, new in found.retyped[:_MOST_TYPES]]
        more = len(found.retyped) - len(shown)
        shown += [f"{more} more"] if more else []
        typed = any(old.partition("[")[0] != new.partition("[")[0] for _, old, new in found.retyped)
        what = f"{many(len(found.retyped), 'argument')} of another {'type' if typed else 'shape'}"
        words.append(f"{what}{each}: {', '.join(shown)}")
    if found.reordered:
        words.append(f"arguments in another order: {format_order(found.reordered)}")
    if words:
        yield "; ".join(words)


def _results(diff: ModuleDiff) -> Iterator[str]:
    """Results of another type; where arguments are of another type too, it follows from them."""
    modules = diff.old, diff.new
    if diff.arguments.retyped or max(map(_partitions, modules)) > 1:
        return
    if not all(one.computations for one in modules) or any(_is_retyped(edit, diff) for edit in diff.reported):
        return
    old, new = map(_result_types, modules)
    if len(old) != len(new):
        yield f"{many(len(new), 'result')} instead of {len(old)}"
        return
    changed = [(number, *pair) for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    shown = [f"result {number} is {after} instead of {before}" for number, before, after in changed[:_MOST_TYPES]]
    more = len(changed) - len(shown)
    if shown:
        yield ", ".join([*shown, *([f"{more} more of another type"] if more else [])])


def _is_retyped(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether an argument is of another type; not all have paths by which they are known."""
    return is_argument(edit, diff) and not {"element_type", "shape"}.isdisjoint(edit.fields)


def _result_types(module: Module) -> list[str]:
    return [f"{leaf.element_type}[{','.join(map(str, leaf.dimensions))}]" for leaf in module.result_shapes()]


def interface_stories(diff: ModuleDiff) -> Iterator[str]:
    """Sentences about arguments that both programs have: of another type, sharded differently, donated or not.

    Example:
        >>> list(interface_stories(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    if diff.arguments.retyped:
        yield from _arguments(diff)
    yield from _resharded(diff)
    yield from _donations(diff)


def constant_stories(diff: ModuleDiff) -> Iterator[str]:
    """The sentence about large constants that were added, without the line, which a headline says by itself.

    Example:
        >>> list(constant_stories(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    yield from _constants(diff, with_place=False)


def _resharded(diff: ModuleDiff) -> Iterator[str]:
    """Arguments that are sharded differently; where that shows as another shape on each device, that is said."""
    if diff.old.stage == "compiled" and diff.arguments.retyped:
        return
    changed = [
        (edit, change)
        for edit in diff.reported
        for change in edit.changes
        if change.field == "sharding" and is_argument(edit, diff)
    ]
    count = sum(edit.count for edit, _ in changed)
    if count:
        pairs = dict.fromkeys(
            format_pair(*(format_partition(text or "none") for text in (change.old, change.new)))
            for _, change in changed
        )
        words = f"{many(count, 'argument')} {'is' if count == 1 else 'are'} {RESHARDED}"
        paths = list(filter(None, (path for edit, _ in changed for path in _paths(edit, diff))))
        yield _with_paths(words, paths) + (f" ({next(iter(pairs))})" if len(pairs) == 1 else "")


def format_order(paths: Sequence[str]) -> str:
    """The first few arguments in their order.

    Example:
        >>> format_order(["y", "x", "z", "w"])
        'y, x, z, ...'
    """
    return ", ".join([*paths[:_MOST_PATHS], *(["..."] if len(paths) > _MOST_PATHS else [])])


def _with_paths(words: str, paths: Sequence[str]) -> str:
    return f"{words}: {format_paths(paths)}" if paths else words


def _partitions(module: Module) -> int:
    text = module.attribute("num_partitions") or module.attribute("mhlo.num_partitions") or ""
    found = re.match(r"\d+", text)
    return int(found[0]) if found and module.stage == "compiled" else 1


def _edited_arguments(diff: ModuleDiff) -> tuple[tuple[list[str], int], tuple[list[str], int]]:
    """Arguments that edits add and remove: their paths, and how many have none."""
    found: dict[str, tuple[list[str], int]] = {"added": ([], 0), "removed": ([], 0)}
    for edit in diff.reported:
        if edit.kind not in found or edit.is_weak:
            continue
        for old, new in edit.sites:
            module, site = (diff.old, old) if old else (diff.new, new)
            if site is not None and site.opcode == "parameter" and site.computation == module.entry:
                paths, unnamed = found[edit.kind]
                path = path_of(_instruction(module, site))
                found[edit.kind] = ([*paths, path], unnamed) if path else (paths, unnamed + 1)
    return found["added"], found["removed"]


_UNUSED = "still donated, but no output uses the memory now"


def _donations(diff: ModuleDiff) -> Iterator[str]:
    changed = [(edit, edit.changes[0]) for edit in diff.reported if edit.changes and edit.changes[0].field == "alias"]
    lost = [edit for edit, change in changed if change.new in NOT_DONATED]
    won = [edit for edit, change in changed if change.old in NOT_DONATED]
    unused = [edit for edit, change in changed if change.new == ANY_OUTPUT and change.old.startswith("output {")]
    for edits, word in ((lost, "no longer donated"), (won, "donated now"), (unused, _UNUSED)):
        count = sum(edit.count for edit in edits)
        if count:
            paths = format_paths(path for edit in edits for path in _paths(edit, diff))
            yield f"{many(count, 'argument')} {'is' if count == 1 else 'are'} {word}{f': {paths}' if paths else ''}"


def _paths(edit: Edit, diff: ModuleDiff) -> Iterator[str]:
    for old, new in edit.sites:
        module, site = (diff.old, old) if old else (diff.new, new)
        if site is not None:
            yield path_of(_instruction(module, site))


def format_paths(paths: Iterable[str]) -> str:
    """Up to three paths of arguments; of more how many lie below what they have in common.

    Example:
        >>> format_paths(["cache['keys']", "cache['values']"])
        "cache['keys'], cache['values']"
        >>> format_paths([*(f"params['blocks'][2].w{n}" for n in range(4)), "x"])
        "params['blocks'][2] (4), x"
        >>> format_paths(["a", "b", *(f"blocks[{n}].bias" for n in range(4))])
        'blocks[*].bias (4), a, b'
    """
    known = [path for path in dict.fromkeys(paths) if path]
    if len(known) <= _MOST_PATHS:
        return ", ".join(known)
    groups = [_PathGroup(0, [tuple(_PARTS.findall(path)) for path in known])]
    while True:
        splits = [(len(parts), n, parts) for n, one in enumerate(groups) if len(parts := one.split()) > 1]
        # What has no name in common has to be split, however many groups that gives.
        fitting = [one for one in splits if len(groups) - 1 + one[0] <= _MOST_PATHS or not groups[one[1]].depth]
        if not fitting:
            break
        _, number, parts = max(fitting, key=lambda one: (len(groups[one[1]].paths), -one[1]))
        groups[number : number + 1] = parts
    groups.sort(key=lambda one: -len(one.paths))
    rest = sum(len(one.paths) for one in groups[_MOST_PATHS:])
    return ", ".join(map(str, groups[:_MOST_PATHS])) + (f" and {rest} more" if rest else "")


@dataclass(frozen=True, slots=True)
class _PathGroup:
    """Paths that have their first parts in common."""

    depth: int
    paths: list[tuple[str, ...]]

    def split(self) -> list[_PathGroup]:
        """By the first part in which they differ; the group itself where it is one path."""
        depth = self.depth
        while len({path[: depth + 1] for path in self.paths}) == 1 and depth < min(map(len, self.paths)):
            depth += 1
        parts: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for path in self.paths:
            parts.setdefault(path[: depth + 1], []).append(path)
        return [_PathGroup(depth + 1, paths) for paths in parts.values()] if len(parts) > 1 else [self]

    def __str__(self) -> str:
        first = self.paths[0]
        columns = list(zip(*self.paths, strict=False))
        words = [one[0] if len(set(one)) == 1 else "[*]" if one[0].startswith("[") else ".*" for one in columns]
        if len(set(map(len, self.paths))) > 1 or words[-1] in ("[*]", ".*"):
            words = words[: next(n for n, one in enumerate(columns) if len(set(one)) > 1 or n + 1 == len(columns))]
        return "".join(words or first) + (f" ({len(self.paths)})" if len(self.paths) > 1 else "")


def _turns(diff: ModuleDiff) -> Iterator[str]:
    """Loops of both sides that turn more or less often, where no loop came or went and there is one such change."""
    if any(edit.kind in ("added", "removed") and _is_loop(edit) for edit in diff.edits):
        return
    old, new = loops_of(diff.old), loops_of(diff.new)
    gone, came = list((old - new).items()), list((new - old).items())
    if len(gone) != 1 or len(came) != 1 or gone[0][1] != came[0][1]:
        return
    (before, count), (after, _) = gone[0], came[0]
    if before[:-1] != after[:-1]:  # the loop around it is another one, or turns otherwise
        return
    was, now = ("" if path[-1].startswith(UNKNOWN) else many(int(path[-1]), "time") for path in (before, after))
    what, turn = ("a loop", "turns") if count == 1 else (f"{count} loops", "turn")
    if was and now:
        yield f"{what} {turn} {now} instead of {before[-1]}"
    elif was:
        yield f"how often {what} {turn} is no longer known (was {was})"
    elif now:
        yield f"how often {what} {turn} is known now ({now})"


def _means(diff: ModuleDiff) -> Iterator[str]:
    """Means over more or fewer elements, where these follow from no argument and there is one such change."""
    if diff.old.stage != "stablehlo" or diff.arguments.retyped:
        return
    old, new = map(means, (diff.old, diff.new), diff.touched)
    gone, came = old - new, new - old
    if len(gone) == len(came) == 1:
        (before, count), (after, now) = *gone.items(), *came.items()
        if count == now:
            what = "a mean is" if count == 1 else f"{count} means are"
            yield f"{what} over {after:,} elements instead of {before:,}"


def _is_loop(edit: Edit) -> bool:
    return any(site is not None and site.opcode == "while" for site in (edit.old, edit.new))


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
    """Another implementation of random numbers; keys may still be split with the other one."""
    old, new = (_generators_of(module) for module in (diff.old, diff.new))
    if not old or not new or old == new:
        return
    if _RNG in old ^ new and (_RNG in new or _THREEFRY in new):
        names = (_RNG, _THREEFRY) if _RNG in new else (_THREEFRY, _RNG)
        yield f"random numbers come from {names[0]} instead of {names[1]}"


def _generators_of(module: Module) -> set[str]:
    found = set()
    for computation in module.computations:
        if "threefry" in computation.name:
            found.add(_THREEFRY)
        for it in computation.instructions:
            if _RNG_OPCODE.search(it.opcode):
                found.add(_RNG)
            elif _THREEFRY not in found and "threefry" in it.op_name:
                found.add(_THREEFRY)
    return found


def _constants(diff: ModuleDiff, packages: Sequence[str] = (), with_place: bool = True) -> Iterator[str]:
    """Large constants that were added, what they replace, and the arguments of their shapes that were removed."""
    size, count, old_size, old_count = 0, 0, 0, 0
    shapes: set[_Type] = set()
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
    gone = _arguments_of(diff, shapes)
    where = place(first.source, packages=packages) if with_place else ""
    at = f", {where}" if where else ""
    if old_count:
        sizes = format_pair(format_bytes(old_size), format_bytes(size))
        words = f"{many(count, 'large constant')} instead of {old_count} ({sizes}{at})"
    else:
        words = f"{many(count, 'large constant')} added ({format_bytes(size)}{at})"
    yield words + (f", {many(len(gone), 'argument')} gone: {format_paths(gone)}" if gone else "")


_Type = tuple[str, tuple[int, ...]]


def _replaced_by_constants(diff: ModuleDiff) -> list[str]:
    """Paths of removed arguments that have the shape of a large constant that was added."""
    added = (edit.new for edit in diff.reported if edit.kind == "added" and edit.new and edit.new.opcode == "constant")
    shapes = [_instruction(diff.new, site).shape for site in added]
    return _arguments_of(diff, {(s.element_type, s.dimensions) for s in shapes if s.bytes >= LARGE_LITERAL_BYTES})


def _arguments_of(diff: ModuleDiff, types: Collection[_Type]) -> list[str]:
    """Paths of removed arguments of some types."""
    if not types:
        return []
    found = diff.arguments
    removed = found.removed if found.added or found.removed else _edited_arguments(diff)[1][0]
    entry = diff.old.entry_computation
    its = (entry.instructions[position] for position in entry.parameters())
    chosen = [it for it in its if (it.shape.element_type, it.shape.dimensions) in types]
    return [path for it in chosen if (path := path_of(it)) in removed]


def compiler_stories(diff: ModuleDiff) -> Iterator[str]:
    """Sentences about what a compiler decides and no number says: what runs a fusion, and the order of branches.

    Example:
        >>> list(compiler_stories(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    emitters: Counter[str] = Counter()
    reordered = 0
    for edit in diff.reported:
        for change in edit.changes:
            if change.field == "backend_config":
                old, new = (_EMITTER.search(text or "") for text in (change.old, change.new))
                if new and (old is None or old[1] != new[1]):
                    emitters[new[1]] += edit.count
            reordered += edit.count if change.field == f"attribute:{ORDER}" else 0
    for kind, count in emitters.most_common():
        yield f"{many(count, 'fusion')} {_are(count)} of kind {kind} now"
    if reordered:
        yield f"the branches of {many(reordered, 'conditional')} are in another order"


def buffer_stories(diff: ModuleDiff, metrics: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """The sentence about an argument that is donated on both sides and has a second buffer now, or no longer.

    Temporary memory that grows or shrinks by the size of such an argument is a buffer beside its own.

    Args:
        diff: of two compiled programs.
        metrics: of both, old and new; bytes.

    Example:
        >>> list(buffer_stories(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)), {}))
        []
    """
    old, new = metrics.get("memory.temp", (0, 0))
    by = abs(new - old)
    if diff.old.stage != "compiled" or by < _LEAST_BUFFER or not all((diff.old.computations, diff.new.computations)):
        return
    entry = diff.new.entry_computation
    donated = donations(diff.new).keys() & donations(diff.old).keys()
    if by * 2 < max(old, new):  # other buffers are larger than that: many things have the size of some argument
        return
    same = [
        (number, it)
        for number, it in enumerate(entry.instructions[index] for index in entry.parameters())
        if number in donated and abs(it.shape.bytes - by) <= _NEARLY * by
    ]
    for number, it in same[:1]:
        name = path_of(it) or f"number {number}"
        way = "grew" if new > old else "shrank"
        yield f"temp {way} by the size of the donated argument {name} ({format_bytes(it.shape.bytes)})"


def _written_buffers(diff: ModuleDiff, packages: Sequence[str]) -> Iterator[str]:
    """A buffer that is written in place and lies in another order now: each write may touch far more memory."""
    if edit := reordered_write(diff):
        change = next(change for change in edit.changes if change.field in ("layout", "shape"))
        where, opcode = place(edit.source, packages=packages), edit.new.opcode if edit.new else ""
        other = "has another layout" if change.field == "layout" else "has its dimensions in another order"
        yield f"the buffer that {opcode} writes {other} ({change.old} -> {change.new}){f' at {where}' if where else ''}"


def reordered_write(diff: ModuleDiff | None) -> Edit | None:
    """The first write in place into a buffer that lies in another order than before; None where there is none.

    Numbers of such a program may all be lower, and each write be slower: what lay side by side is apart.
    """
    if diff is None:
        return None
    for edit in diff.reported:
        if edit.kind != "changed" or "element_type" in edit.fields or not (edit.old and edit.new):
            continue
        if "layout" not in edit.fields and not ("shape" in edit.fields and _is_permuted(edit, diff)):
            continue
        if edit.new.opcode in _WRITES or _is_write_fusion(edit.new, diff.new):
            return edit
    return None


def _is_permuted(edit: Edit, diff: ModuleDiff) -> bool:
    """Whether an instruction has the same dimensions in another order."""
    if not (edit.old and edit.new):
        return False
    old, new = (_instruction(*one).shape.dimensions for one in ((diff.old, edit.old), (diff.new, edit.new)))
    return old != new and sorted(old) == sorted(new)


def _is_write_fusion(site: Site, module: Module) -> bool:
    it = _instruction(module, site)
    bodies = [module.computations[callee] for callee in it.called] if it.opcode == "fusion" else []
    return any(body.instructions[body.root].opcode in _WRITES for body in bodies)


def _instruction(module: Module, site: Site) -> Instruction:
    return module.computations[site.computation].instructions[site.instruction]
