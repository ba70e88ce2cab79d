"""Sentences about what happened to a program: its arguments, results, constants, loops, memories and element types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain, combinations, islice
from math import prod
from typing import Concatenate, ParamSpec

from hlodiff.differ.classify import classes_of_edit, is_argument, is_rounded_anyway, resharded_by_map, signature
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.differ.loops import LOOPS, UNKNOWN, loops_of
from hlodiff.differ.metrics import LARGE_LITERAL_BYTES, ZERO
from hlodiff.differ.placement import donations, format_partition, places_nothing
from hlodiff.differ.prepare import ORDER
from hlodiff.differ.regions import CARRIERS
from hlodiff.differ.result import Edit, ModuleDiff, Site
from hlodiff.differ.shape_literals import means
from hlodiff.hlo.collectives import parse_groups
from hlodiff.hlo.metadata import REMATERIALISED, path_of
from hlodiff.hlo.model import BROADCASTS, CALLS, Computation, Instruction, Module, Shape, Stage
from hlodiff.hlo.traversal import multiplicities, operands_first
from hlodiff.report.collective_arrays import arrays_of, retyped_arrays
from hlodiff.report.edits import ANY_OUTPUT, NOT_DONATED, callee_of, format_literal, format_shape
from hlodiff.report.lines import common_ends
from hlodiff.report.wording import (
    format_arrow,
    format_bytes,
    format_count,
    format_memory_space,
    format_names,
    format_pair,
    many,
    many_are,
    place,
)

_THREEFRY, _RNG = "threefry2x32", "rng_bit_generator"
_RNG_OPCODE = re.compile(r"^rng[_-]bit[_-]generator$")
_EMITTER = re.compile(r'\bfusion_config\.kind="(\w+)"')
_WRITES = ("dynamic-update-slice", "dynamic_update_slice", "scatter")
_MOST_PATHS = 3
_LEAST_BUFFER = 4096  # bytes; many unrelated buffers have the same smaller size
_NEARLY = 0.01
REORDERED = "arguments in another order"
RESHARDED = "sharded differently"
"""Words for arguments whose sharding changed."""
CONNECTED_DIFFERENTLY = "the same operations are connected differently"
_MOST_TYPES = 2
_MOST_LOOPS = 3
_OF_SHARD_MAP = {"attribute:in_shardings": "inputs", "attribute:out_shardings": "outputs"}
_AXIS = re.compile(r'"([^"]+)"\s*=\s*(\d+)')
_NAMES = re.compile(r"%[\w.#-]+")
# The parts of `params['blocks'][0].weight`.
_PARTS = re.compile(r"""\[(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[^\[\]'"][^\[\]]*+)\]|\.?[^.\[]+""")


Metrics = Mapping[str, tuple[float, float]]
_P = ParamSpec("_P")
_Writer = Callable[Concatenate[ModuleDiff, _P], Iterator[str]]


def _about(*words: str, stage: Stage | None = None) -> Callable[[_Writer[_P]], _Writer[_P]]:
    """Skips a sentence unless the diff has an edit of one of these kinds, opcodes or changed fields, in this stage."""
    needed = frozenset(words)

    def limit(write: _Writer[_P]) -> _Writer[_P]:
        @wraps(write)
        def limited(diff: ModuleDiff, /, *args: _P.args, **kwargs: _P.kwargs) -> Iterator[str]:
            is_about = stage in (None, diff.old.stage) and not needed.isdisjoint(diff.contents)
            return write(diff, *args, **kwargs) if is_about else iter(())

        return limited

    return limit


@dataclass(frozen=True, slots=True)
class ProgramSentences:
    """Sentences about a changed program that its headline and its function's verdict choose from.

    Args:
        unrolled, happened, moved, constraints, types: results of `format_unrolled`, `what_happened`, `moved_work`,
            `constraint_counts` and `other_element_types`.
        arguments: those that only one side has, and are no constant on the other.
        results: those that callers get by another path or of another type, and how many come or go.
        constants: results that are a constant number on one side only.
        nans: whether NaN is chosen more or less often.
        turns: how often loops turn, as far as that changed.
    """

    unrolled: tuple[str, ...] = ()
    happened: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    nans: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()


def what_happened(diff: ModuleDiff, known: ProgramSentences, packages: Sequence[str] = ()) -> Iterator[str]:
    """Sentences about a changed program, most important first, without markup.

    Args:
        diff: of two programs.
        known: what it says of arguments, results, constants and turns.
        packages: libraries whose own line is named, see `shown_place`.

    Example:
        >>> module = Module("m", "compiled", (), 0)
        >>> list(what_happened(ModuleDiff(module, module), ProgramSentences()))
        []
    """
    yield from _meshes(diff)
    yield from _arguments(diff, known.arguments)
    yield from known.results
    yield from known.constants
    yield from _independent_results(diff)
    yield from _resharded(diff)
    yield from _mapped(diff)
    yield from _over_other_axes(diff)
    yield from known.turns
    yield from _inlined(diff)
    yield from _runs(diff)
    yield from _means(diff)
    yield from _constants(diff, packages)
    yield from donation_sentences(diff)
    yield from _rematerialised(diff)
    yield from _generators(diff)
    yield from _written_buffers(diff, packages)


def program_sentences(program: ProgramComparison, packages: Sequence[str] = ()) -> ProgramSentences:
    """All sentences about a program, computed once for every part of the report.

    Args:
        program: a program that both sides have.
        packages: libraries whose own line is named, see `shown_place`.

    Example:
        >>> program_sentences(ProgramComparison("f", "cpu", "compiled", "identical")).happened
        ()
    """
    diff = program.diff
    if diff is None or diff.identical:
        return ProgramSentences()
    known = ProgramSentences(
        unrolled=tuple(format_unrolled(diff)),
        moved=tuple(moved_work(diff)),
        constraints=tuple(constraint_counts(diff, program.metrics())),
        types=tuple(other_element_types(diff)),
        arguments=tuple(_new_and_gone_arguments(diff)),
        results=tuple(_results(diff)),
        constants=tuple(_result_constants(diff)),
        nans=tuple(_nans(diff)),
        turns=tuple(_turns(diff)),
    )
    return replace(known, happened=tuple(what_happened(diff, known, packages)))


def sentences_of(program: ProgramComparison, known: ProgramSentences | None = None) -> Iterator[str]:
    """Sentences about a changed program, most important first, without what numbers and lists of changes show.

    Args:
        program: a program that both sides have.
        known: its `program_sentences`, if already computed.

    Example:
        >>> list(sentences_of(ProgramComparison("f", "cpu", "compiled", "identical")))
        []
    """
    diff = program.diff
    if diff is None:
        return
    known = known or program_sentences(program)
    yield from known.unrolled
    # The sentence about unrolling covers the loop's trip count.
    reported = known.turns if known.unrolled else ()
    yield from (words for words in known.happened if words not in reported)
    if known.turns:
        yield from _unedited_work(diff)
    yield from buffer_sentences(diff, program.metrics())
    yield from known.moved
    yield from known.constraints
    yield from known.types


def _arguments(diff: ModuleDiff, new_and_gone: Sequence[str]) -> Iterator[str]:
    """One sentence on arguments that were added, removed, renamed, retyped or reordered, with their paths."""
    found, words = diff.arguments, [*new_and_gone]
    if found.renamed:
        words.append(_at_another_path("argument", found.renamed))
    if found.retyped:
        each = " on each device" if min(map(_partitions, (diff.old, diff.new))) > 1 else ""
        what = f"{many(len(found.retyped), 'argument')} {_of_another_type(found.retyped)}"
        words.append(f"{what}{each}: {_types(found.retyped)}")
    if found.reordered:
        words.append(f"{REORDERED}: {format_order(found.reordered)}")
    if words:
        yield "; ".join(words)


def _of_another_type(found: Iterable[tuple[str, str, str]]) -> str:
    is_typed = any(old.partition("[")[0] != new.partition("[")[0] for _, old, new in found)
    return f"of another {'type' if is_typed else 'shape'}"


def kinds_of_changed_arguments(diff: ModuleDiff | None) -> tuple[str, ...]:
    """How the arguments of a program changed, without numbers: `new arguments`, `arguments of another shape`.

    If they did not, whether results have another type or shape.

    Example:
        >>> kinds_of_changed_arguments(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)))
        ()
    """
    if diff is None:
        return ()
    added, removed = (len(paths) + unnamed for paths, unnamed in _new_and_gone(diff))
    retyped = diff.arguments.retyped
    kinds = [(added, "new arguments"), (removed, "arguments gone")]
    kinds += [(len(retyped), f"arguments {_of_another_type(retyped)}")] if retyped else []
    found = tuple(kind for count, kind in kinds if count)
    return found or tuple(_kinds_of_changed_results(diff))


def _kinds_of_changed_results(diff: ModuleDiff) -> Iterator[str]:
    """That results which callers get by the same paths have another type or shape, without numbers."""
    if not all(module.computations for module in (diff.old, diff.new)):
        return
    old, new = (signature(module)[1] for module in (diff.old, diff.new))
    names = diff.old.result_names()
    if len(old) != len(new) or names != diff.new.result_names():
        return
    pairs = [one for one in zip(names, old, new, strict=False) if one[1] != one[2]]
    if pairs:
        yield f"results {_of_another_type(pairs)}"


def _new_and_gone_arguments(diff: ModuleDiff) -> Iterator[str]:
    """Arguments that were added, and those that were removed and are no constant now, with their paths."""
    (added, unnamed_added), (removed, unnamed_removed) = _new_and_gone(diff)
    if added or unnamed_added:
        yield _with_paths(many(len(added) + unnamed_added, "new argument"), added)
    if removed or unnamed_removed:
        yield _with_paths(f"{many(len(removed) + unnamed_removed, 'argument')} gone", removed)


def _new_and_gone(diff: ModuleDiff) -> tuple[tuple[list[str], int], tuple[list[str], int]]:
    """The paths of added arguments, and of removed ones that are no constant now; of each the number without a path."""
    found = diff.arguments
    if not (found.added or found.removed or "parameter" in diff.contents):
        return ([], 0), ([], 0)
    # Removed arguments that have the type of an added large constant.
    constants = (edit.new for edit in diff.reported if edit.kind == "added" and edit.new)
    shapes = [site.instruction_in(diff.new).shape for site in constants if site.opcode == "constant"]
    types = {(one.element_type, one.dimensions) for one in shapes if one.bytes >= LARGE_LITERAL_BYTES}
    became_constants = set(_arguments_of(diff, types))
    added, removed = list(found.added), [path for path in found.removed if path not in became_constants]
    if not (found.are_named or found.added or found.removed):
        (added, unnamed_added), (removed, unnamed_removed) = _edited_arguments(diff)
        removed = [path for path in removed if path not in became_constants]
    else:
        unnamed_added = unnamed_removed = 0
    return (added, unnamed_added), (removed, unnamed_removed)


@_about("shape", "element_type", "operands", "attribute:root", "added", "removed", "moved")
def _results(diff: ModuleDiff) -> Iterator[str]:
    """Results whose type changed; none if arguments changed type too, because results follow from them."""
    modules = diff.old, diff.new
    if diff.arguments.retyped or not all(one.computations for one in modules):
        return
    fields = {"element_type", "shape", "sharding"}
    if any(is_argument(edit, diff) and not fields.isdisjoint(edit.fields) for edit in diff.reported):
        return  # an argument without a path to be matched by
    old, new = (
        [f"{leaf.element_type}[{','.join(map(str, leaf.dimensions))}]" for leaf in module.result_shapes]
        for module in modules
    )
    if max(map(_partitions, modules)) > 1:
        if diff.old.stage == "compiled" and len(old) == len(new) and len(set(map(_partitions, modules))) == 1:
            # What no argument has: a constraint placed it.
            found = [row for row in zip(_result_names(diff), old, new, strict=True) if row[1] != row[2]]
            if found:
                yield f"{many(len(found), 'result')} of another shape on each device: {_types(found)}"
        return
    if len(old) != len(new):
        yield _came_and_went(diff, old, new)
        return
    names: list[Sequence[str]] = [module.result_names() for module in modules]
    both, words = set(names[0]) & set(names[1]), list[str]()
    is_unique = all(len(set(each)) == len(each) for each in names)
    is_numbered = any(name.startswith("result ") for name in chain(*names))  # a number is no path
    if not is_unique or (is_numbered and not both):
        names, both = [_result_names(diff)] * 2, set(_result_names(diff))
    types = [dict(zip(*each, strict=True)) for each in ((names[0], old), (names[1], new))]
    kept = [[name for name in each if name in both] for each in names]
    pairs = [(name, name) for name in kept[1]]
    pairs += zip(*([name for name in each if name not in both] for each in names), strict=True)
    renamed = [pair for pair in pairs if pair[0] != pair[1]]
    if renamed:
        yield _at_another_path("result", renamed)
    for one, other in pairs:
        if types[0][one] != types[1][other]:
            words.append(f"{other} is {types[1][other]} instead of {types[0][one]}")
    shown = words[:_MOST_TYPES] + ([f"{len(words) - _MOST_TYPES} more"] if len(words) > _MOST_TYPES else [])
    if kept[0] != kept[1]:
        shown.append("results in another order")
    if shown:
        yield ", ".join(shown)


def _came_and_went(diff: ModuleDiff, old: Sequence[str], new: Sequence[str]) -> str:
    """More or fewer results: those that came or went by their paths, where the others keep path and type.

    New arguments that are returned, as a further layer and its optimizer state, have been named already.
    """
    names = [module.result_names() for module in (diff.old, diff.new)]
    one, other = (dict(zip(*each, strict=True)) for each in ((names[0], old), (names[1], new)))
    both, arguments = one.keys() & other.keys(), diff.arguments
    is_known = len(one) == len(old) and len(other) == len(new) and all(one[n] == other[n] for n in both)
    is_known &= bool(both) and not any(name.startswith("result ") for name in (*one, *other))  # a number is no path
    by_arguments = len(arguments.added) - len(arguments.removed) == len(new) - len(old)
    apart = [name for name in (*names[0], *names[1]) if name not in both]
    if by_arguments or not is_known or len(apart) != abs(len(new) - len(old)):
        return f"{many(len(new), 'result')} instead of {len(old)}"
    if len(new) < len(old):
        return _with_paths(f"{many(len(apart), 'result')} gone", apart)
    if len(apart) == 1:
        return f"1 new result: {apart[0]} {other[apart[0]]}"
    return _with_paths(many(len(apart), "new result"), apart)


def _at_another_path(what: str, renamed: Sequence[tuple[str, str]]) -> str:
    rest = f", {len(renamed) - 1:,} more" if len(renamed) > 1 else ""
    return f"{many(len(renamed), what)} at another path: {format_pair(*renamed[0])}{rest}"


def _types(found: Sequence[tuple[str, str, str]]) -> str:
    """The first paths with both types, and the number of others."""
    shown = [f"{path} {format_pair(old, new)}" for path, old, new in found[:_MOST_TYPES]]
    return ", ".join([*shown, *([f"{len(found) - len(shown)} more"] if len(found) > len(shown) else [])])


def _result_names(diff: ModuleDiff) -> list[str]:
    """As many results as both sides have by their paths, or by number where the paths differ."""
    pairs = zip(*(module.result_names() for module in (diff.old, diff.new)), strict=False)
    return [new if old == new or old == f"result {n}" else f"result {n}" for n, (old, new) in enumerate(pairs)]


@_about("operands", "added", "removed", "opcode", stage="stablehlo")
def _result_constants(diff: ModuleDiff) -> Iterator[str]:
    """Results that are a constant number now and were computed, or the reverse: a gradient that is stopped is 0."""
    if not all(one.computations for one in (diff.old, diff.new)):
        return
    names = [module.result_names() for module in (diff.old, diff.new)]
    values = [_constants_of_results(module) for module in (diff.old, diff.new)]
    is_numbered = any(name.startswith("result ") for name in chain(*names))  # a number is no path
    are_known = all(len({*each}) == len(of_each) for each, of_each in zip(names, values, strict=True))
    if not are_known or (is_numbered and len(names[0]) != len(names[1])):
        return
    old, new = (dict(zip(each, of_each, strict=True)) for each, of_each in zip(names, values, strict=True))
    for verb, one, other in (("now", new, old), ("no longer", old, new)):
        found: dict[str, list[str]] = {}
        for name, value in one.items():
            if value and other.get(name) == "":
                found.setdefault(value, []).append(name)
        for value, those in found.items():
            are = f"{those[0]} is" if len(those) == 1 else f"{many(len(those), 'result')} are"
            yield _with_paths(f"{are} {verb} constant {value}", those if len(those) > 1 else [])


@_about("added", "removed", "opcode", stage="stablehlo")
def _nans(diff: ModuleDiff) -> Iterator[str]:
    """More or fewer operations that choose NaN, as `jnp.take` does for what is out of range."""
    old, new = (_selects_of_nan(module) for module in (diff.old, diff.new))
    if old != new:
        by = abs(new - old)
        give = "give" if by > 1 else "gives"
        yield (
            f"{many(by, 'more select')} that {give} NaN" if new > old else f"{many(by, 'select')} fewer that {give} NaN"
        )


def _selects_of_nan(module: Module) -> int:
    """How many operations of a StableHLO program choose between a computed value and NaN; 0 for a compiled one."""
    found = 0
    bodies = module.computations if module.stage == "stablehlo" else ()
    for index, (computation, times) in enumerate(zip(bodies, multiplicities(module), strict=False)):
        for it in computation.instructions if times.total else ():
            if it.opcode == "select" and "nan" in (_constant_of(module, index, *read) for read in it.reads[1:]):
                found += times.total
    return found


_SAME_NUMBER = BROADCASTS | {"reshape", "convert", "transpose", "slice", "optimization_barrier"}
_NUMBER = re.compile(r"-?\d[\d.]*(?:e[+-]?\d+)?|-?inf|nan|true|false")
_OF_EVERY_TYPE = re.compile("[01]")  # others may be rounded
_MOST_STEPS = 1000  # a damaged program may call itself


def _constants_of_results(module: Module) -> list[str]:
    """For each result of a StableHLO program the number that all its elements are, as text; "" where it is computed."""
    root = module.entry_computation.instructions[module.entry_computation.root]
    return [_constant_of(module, module.entry, *read) for read in root.reads if root.opcode == "return"]


def _constant_of(module: Module, computation: int, position: int, result: int) -> str:
    """The number that all elements of a value are, as text; "" where it is computed or they differ."""
    calls: list[tuple[int, Instruction]] = []
    is_converted = False
    for _ in range(_MOST_STEPS):
        body = module.computations[computation].instructions
        it = body[position]
        if it.opcode == "constant":
            number = format_literal(it.literal or "")
            return number if (_OF_EVERY_TYPE if is_converted else _NUMBER).fullmatch(number) else ""
        if it.opcode == "parameter" and calls and it.number < len(calls[-1][1].operands):
            computation, call = calls.pop()
            position, result = call.reads[it.number]
        elif it.opcode in CALLS and len(it.called) == 1:
            calls.append((computation, it))
            computation = it.called[0]
            root = module.computations[computation].instructions[module.computations[computation].root]
            if result >= len(root.operands):
                return ""
            position, result = root.reads[result]
        elif it.opcode in _SAME_NUMBER and it.operands:
            is_converted |= it.opcode == "convert"
            position, result = it.reads[0]
        else:
            return ""
    return ""


@_about("operands", "removed", stage="stablehlo")
def _independent_results(diff: ModuleDiff) -> Iterator[str]:
    """Results that depend on at most half or at least twice as many arguments, as if a gradient is zero or no longer.

    Whatever runs inside a loop or a call depends on all of its operands.
    """
    modules, arguments = (diff.old, diff.new), diff.arguments
    if not (arguments.are_named and all(one.computations for one in modules)):
        return
    if arguments.added or arguments.removed or arguments.renamed or arguments.reordered:
        return
    old, new = map(_arguments_of_results, modules)
    if len(old) != len(new):
        return
    entry = diff.new.entry_computation
    paths = [path_of(entry.instructions[n]) for n in entry.parameters]
    fewer, more = list[str](), list[str]()
    constants = [_constants_of_results(module) for module in modules]  # which another sentence is about
    for number, (before, after) in enumerate(zip(old, new, strict=True)):
        if before == after or any(any(side[number : number + 1]) for side in constants):
            continue
        counts = before.bit_count(), after.bit_count()
        if not after & ~before and 2 * counts[1] <= counts[0]:
            left = [path for n, path in enumerate(paths) if after >> n & 1]
            on = f"only on {left[0]}" if len(left) == 1 else f"on {len(left)}" if left else "on none"
            fewer.append(f"{_result_names(diff)[number]} {on}")
        elif not before & ~after and 2 * counts[0] <= counts[1]:
            more.append(f"{_result_names(diff)[number]} on {counts[1]} instead of {counts[0]}")
    for found, how_many in ((fewer, "at most half"), (more, "at least twice")):
        shown = found[:_MOST_PATHS] + ([f"{len(found) - _MOST_PATHS} more"] if len(found) > _MOST_PATHS else [])
        if found:
            depend = "result now depends" if len(found) == 1 else "results now depend"
            yield f"{len(found):,} {depend} on {how_many} as many arguments: {', '.join(shown)}"


def _arguments_of_results(module: Module) -> list[int]:
    """For each result of a StableHLO program the arguments that it depends on, one bit for each."""
    entry = module.entry_computation
    masks = {position: 1 << number for number, position in enumerate(entry.parameters)}
    for position in operands_first(entry):
        for operand in entry.instructions[position].operands:
            masks[position] = masks.get(position, 0) | masks.get(operand, 0)
    return [masks.get(operand, 0) for operand in entry.instructions[entry.root].operands]


def interface_sentences(diff: ModuleDiff) -> Iterator[str]:
    """Sentences about the mesh and about arguments of both programs: types, shardings and donations.

    Example:
        >>> list(interface_sentences(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    yield from _meshes(diff)
    if diff.arguments.retyped:
        yield from _arguments(diff, tuple(_new_and_gone_arguments(diff)))
    yield from _resharded(diff)
    yield from donation_sentences(diff)


def constant_sentences(diff: ModuleDiff) -> Iterator[str]:
    """The sentence about added large constants, without their line, which the headline shows itself.

    Example:
        >>> list(constant_sentences(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    yield from _constants(diff, with_place=False)


def _meshes(diff: ModuleDiff) -> Iterator[str]:
    """A program's only mesh, if its axes or sizes changed: arguments that name its axes are split differently."""
    sides = [
        {
            ", ".join(f"{axis}={size}" for axis, size in _AXIS.findall(text))
            for name, text in module.attributes
            if name.startswith("sdy.mesh @") and _AXIS.search(text)  # JAX adds a mesh without axes to some programs
        }
        for module in (diff.old, diff.new)
    ]
    if all(len(side) == 1 for side in sides) and sides[0] != sides[1]:
        (before,), (after,) = sides
        yield f"the mesh is {after} instead of {before}"


@_about("sharding")
def _resharded(diff: ModuleDiff) -> Iterator[str]:
    """Arguments that are sharded differently; none if `_arguments` already reports new shapes per device."""
    if diff.old.stage == "compiled" and diff.arguments.retyped:
        return
    changed = [
        (edit, format_partition(change.old or "none"), format_partition(change.new or "none"))
        for edit in diff.reported
        for change in edit.changes
        if change.field == "sharding" and is_argument(edit, diff)
    ]
    told = any(_meshes(diff))  # if the mesh changed, equal axis names split differently because of it
    changed = [one for one in changed if one[1] != one[2] or not (told or one[1] == "replicated")]
    count = sum(edit.count for edit, _, _ in changed)
    if count:
        pairs = dict.fromkeys(format_pair(old, new) for _, old, new in changed)
        words = f"{many_are(count, 'argument')} {RESHARDED}"
        paths = list(filter(None, (path for edit, _, _ in changed for path in _paths(edit, diff))))
        yield _with_paths(words, paths) + (f" ({next(iter(pairs))})" if len(pairs) == 1 else "")

    results = [
        (one, other)
        for one, other in _result_shardings(diff)
        if one != other and (one, other) not in {pair[1:] for pair in changed}  # else they follow an argument
    ]
    if results:
        now = {new for _, new in results}
        pairs = dict.fromkeys(format_pair(*pair) for pair in results)
        which = next(iter(pairs)) if len(pairs) == 1 else f"now {next(iter(now))}" if len(now) == 1 else ""
        yield f"{many_are(len(results), 'result')} {RESHARDED}{f' ({which})' if which else ''}"


def _result_shardings(diff: ModuleDiff) -> Iterator[tuple[str, str]]:
    """The shardings of each result on both sides, if StableHLO has them and no result came or went."""
    if diff.old.stage != "stablehlo":
        return
    sides = []
    for module in (diff.old, diff.new):
        entry = module.entry_computation
        root = entry.instructions[entry.root]
        sides.append([root.attribute(f"result{n}.sdy.sharding") for n in range(len(module.result_shapes))])
    if len(sides[0]) == len(sides[1]):
        for old, new in zip(*sides, strict=True):
            if old and new:
                yield format_partition(old), format_partition(new)


@_about("attribute:in_shardings", "attribute:out_shardings")
def _mapped(diff: ModuleDiff) -> Iterator[str]:
    """Inputs and outputs of `jax.shard_map` whose sharding changed: each device holds more or less of them."""
    found: dict[str, dict[str, None]] = {}
    for edit in diff.reported:
        for change in edit.changes:
            if change.field in _OF_SHARD_MAP:
                others = (format_pair(*pair) for pair in resharded_by_map(change, edit, diff))
                found.setdefault(_OF_SHARD_MAP[change.field], {}).update(dict.fromkeys(others))
    for name, pairs in found.items():
        if pairs:
            more = len(pairs) - _MOST_TYPES
            shown = [*list(pairs)[:_MOST_TYPES], *([f"{more} more"] if more > 0 else [])]
            yield f"{name} of shard_map are {RESHARDED} ({', '.join(shown)})"


@_about("replica_groups", stage="stablehlo")
def _over_other_axes(diff: ModuleDiff) -> Iterator[str]:
    """Over which axes of the mesh the collectives of StableHLO are now, if all that changed do so alike."""
    meshes = [
        {text for name, text in module.attributes if name.startswith("sdy.mesh @") and _AXIS.search(text)}
        for module in (diff.old, diff.new)
    ]
    if meshes[0] != meshes[1] or len(meshes[0]) != 1:
        return
    axes = [f"{axis}={size}" for axis, size in _AXIS.findall(meshes[0].pop())]
    names: dict[object, str] = {}
    for count in range(1, len(axes) + 1) if len(axes) <= _MOST_AXES else ():
        for some in combinations([axis.partition("=")[0] for axis in axes], count):
            names.setdefault(_devices(f"mesh[{','.join(axes)}] {{{','.join(some)}}}"), ", ".join(some))
    changes = [
        (site.opcode, names.get(_devices(change.old)), names.get(_devices(change.new)), edit.count)
        for edit in diff.reported
        for change in edit.changes
        if change.field == "replica_groups" and (site := edit.new) is not None and "permute" not in site.opcode
    ]
    if len({one[1:3] for one in changes}) == 1 and all(changes[0][1:3]):
        opcodes = Counter[str]()
        for opcode, _, _, count in changes:
            opcodes[opcode] += count
        which = format_names([f"{count}x {name}" if count > 1 else name for name, count in opcodes.items()])
        yield f"{which} over {changes[0][2]} instead of {changes[0][1]}"


_MOST_AXES = 8


def _devices(groups: str) -> object:
    return frozenset(map(frozenset, parse_groups(groups) or ()))


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
    """Added and removed arguments according to the edits; for each their paths and how many have none."""
    found: dict[str, tuple[list[str], int]] = {"added": ([], 0), "removed": ([], 0)}
    for edit in diff.reported:
        if edit.kind not in found or edit.is_weak:
            continue
        for old, new in edit.sites:
            module, site = (diff.old, old) if old else (diff.new, new)
            if site is not None and site.opcode == "parameter" and site.computation == module.entry:
                paths, unnamed = found[edit.kind]
                path = path_of(site.instruction_in(module))
                found[edit.kind] = ([*paths, path], unnamed) if path else (paths, unnamed + 1)
    return found["added"], found["removed"]


NO_LONGER_DONATED, DONATED_NOW = "no longer donated", "donated now"
"""In the sentences about arguments that are not donated any more, and about those that are now."""
_UNUSED = "still donated, but no output uses the memory now"


@_about("alias")
def donation_sentences(diff: ModuleDiff, most: int = _MOST_PATHS) -> Iterator[str]:
    """Arguments that are donated now or no longer, by path.

    Args:
        diff: two programs.
        most: paths shown; more are grouped by what they have in common.

    Example:
        >>> list(donation_sentences(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
        []
    """
    changed = [(edit, edit.changes[0]) for edit in diff.reported if edit.changes and edit.changes[0].field == "alias"]
    lost = [edit for edit, change in changed if change.new in NOT_DONATED]
    won = [edit for edit, change in changed if change.old in NOT_DONATED]
    unused = [edit for edit, change in changed if change.new == ANY_OUTPUT and change.old.startswith("output {")]
    for edits, word in ((lost, NO_LONGER_DONATED), (won, DONATED_NOW), (unused, _UNUSED)):
        count = sum(edit.count for edit in edits)
        if count:
            paths = format_paths((path for edit in edits for path in _paths(edit, diff)), most)
            yield f"{many_are(count, 'argument')} {word}{f': {paths}' if paths else ''}"


def _paths(edit: Edit, diff: ModuleDiff) -> Iterator[str]:
    for old, new in edit.sites:
        module, site = (diff.old, old) if old else (diff.new, new)
        if site is not None:
            yield path_of(site.instruction_in(module))


def format_paths(paths: Iterable[str], most: int = _MOST_PATHS) -> str:
    """Up to `most` argument paths; more are grouped by what they have in common, with counts.

    Example:
        >>> format_paths(["cache['keys']", "cache['values']"])
        "cache['keys'], cache['values']"
        >>> format_paths([*(f"params['blocks'][2].w{n}" for n in range(4)), "x"])
        "params['blocks'][2] (4), x"
        >>> format_paths(["a", "b", *(f"blocks[{n}].bias" for n in range(4))])
        'blocks[*].bias (4), a, b'
        >>> format_paths([f"params['{name}']" for name in ("up", "down", "embed", "scale")])
        'params (4)'
    """
    known = [path for path in dict.fromkeys(paths) if path]
    if len(known) <= most:
        return ", ".join(known)
    split = [tuple(_PARTS.findall(path)) for path in known]
    groups = [_PathGroup(common_ends(min(split), max(split))[0], split)]
    while True:
        splits = [(len(parts), n, parts) for n, one in enumerate(groups) if len(parts := one.split()) > 1]
        # Paths without a common prefix must be split, however many groups result.
        fitting = [one for one in splits if len(groups) - 1 + one[0] <= most or not groups[one[1]].depth]
        if not fitting:
            break
        _, number, parts = max(fitting, key=lambda one: (len(groups[one[1]].paths), -one[1]))
        groups[number : number + 1] = parts
    groups.sort(key=lambda one: -len(one.paths))
    rest = sum(len(one.paths) for one in groups[most:])
    return ", ".join(map(str, groups[:most])) + (f" and {rest} more" if rest else "")


@dataclass(frozen=True, slots=True)
class _PathGroup:
    """Paths whose first `depth` parts are equal."""

    depth: int
    paths: list[tuple[str, ...]]

    def split(self) -> list[_PathGroup]:
        """Subgroups by the first part that differs; the group itself if it is one path."""
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
    """Loops of both sides whose trip count changed, if both have as many loops and only one such change exists.

    A loop that no match joins with what it was is removed and added. Otherwise the outermost loops that came and went.
    """
    if any(opcode in diff.op_counts for opcode in LOOPS):
        found = list(_other_turns(diff))
        yield from found or _other_loops(diff)


def _other_loops(diff: ModuleDiff) -> Iterator[str]:
    """The outermost loops that came and that went, by how often they turn, if there are few of both."""
    old, new = (_by_turns(loops_of(module)) for module in (diff.old, diff.new))
    apart = [Counter(one) for one in (new - old, old - new)]
    outer = [Counter(dict(_outermost(one))) for one in apart]
    # A loop that left one that is gone, or that is in a new one now, is the same loop.
    inner = [_own_turns(one - two) for one, two in zip(apart, outer, strict=True)]
    sides = [sorted((_own_turns(one) - gone).elements()) for one, gone in zip(outer, inner[::-1], strict=True)]
    if not any(sides) or max(map(len, sides)) > _MOST_LOOPS:
        return
    if not all(sides) and any(_is_own_loop(edit) for edit in diff.reported):
        return  # listed as such
    came, gone = (
        ", ".join(f"{turns} turns" if turns else "of unknown length" for turns in side)
        + (", inner ones not counted" if held else "")
        for side, held in zip(sides, inner, strict=True)
    )
    if not all(sides):
        is_new = bool(sides[0])
        yield f"{many(len(sides[1 - is_new]), 'loop')} {'added' if is_new else 'gone'} ({came if is_new else gone})"
    elif sides[0] != sides[1]:
        yield f"{many(len(sides[0]), 'loop')} added ({came}), {len(sides[1])} gone ({gone})"


def _is_own_loop(edit: Edit) -> bool:
    """Whether a loop came or went on its own, and not with a call or a branch that holds it."""
    is_half = edit.kind in ("added", "removed") and edit.cause is None
    return is_half and any(site is not None and site.opcode == "while" for site in (edit.old, edit.new))


def _own_turns(loops: Counter[tuple[str, ...]]) -> Counter[str]:
    """How often loops turn, without those around them."""
    found: Counter[str] = Counter()
    for path, count in loops.items():
        found[path[-1]] += count
    return found


def _other_turns(diff: ModuleDiff) -> Iterator[str]:
    net = sum(
        edit.count if edit.kind == "added" else -edit.count
        for edit in diff.edits
        if edit.kind in ("added", "removed")
        and any(site is not None and site.opcode == "while" for site in (edit.old, edit.new))
    )
    old, new = loops_of(diff.old), loops_of(diff.new)
    if net or old.total() != new.total():
        return
    # By how often they and the loops around them turn; what else their conditions do is uninteresting.
    before, after = (_by_turns(one) for one in (old, new))
    removed, added = (
        Counter({(path[:-1], path[-1]): count for path, count in _outermost(one)})
        for one in (before - after, after - before)
    )
    turns = [{often for _, often in one} for one in (removed, added)]
    around = [Counter({path: count for (path, _), count in one.items()}) for one in (removed, added)]
    if [len(one) for one in turns] != [1, 1] or around[0] != around[1]:
        return
    (was,), (now,), count = *turns, removed.total()
    what, turn = ("a loop", "turns") if count == 1 else (f"{count} loops", "turn")
    if was and now and was != now:
        yield f"{what} {turn} {now} {'time' if now == '1' else 'times'} instead of {was}"
    elif was.startswith("at most") and not now:
        yield f"{what} may turn any number of times instead of {was}"
    elif now.startswith("at most") and not was:
        yield f"{what} {turn} {now} times instead of any number of times"
    elif was and not now:
        yield f"how often {what} {turn} is no longer known (was {was} {'time' if was == '1' else 'times'})"
    elif now and not was:
        yield f"how often {what} {turn} is known now ({now} {'time' if now == '1' else 'times'})"


def _unedited_work(diff: ModuleDiff) -> Iterator[str]:
    """By how many flops unedited operations are more or less, as the loops around them turn more or less often."""
    old, new = (side.exact for side in diff.executed.get("flops", (ZERO, ZERO)))
    if diff.old.stage != "stablehlo" or old is None or new is None:
        return
    costs = [cost for edit in diff.edits for cost in (edit.cost, edit.users_cost) if cost]
    before, after = (sum(cost.flops for both in costs if (cost := both[side])) for side in (0, 1))
    more = new - old - (after - before)
    least = _NEARLY * max(old, new)
    if abs(more) >= least > abs(new - old):  # as many copies of the body run as turns before
        yield "as many flops in all"
    elif abs(more) >= least:
        yield f"unedited operations in loops: {'+' if more > 0 else ''}{format_count(more)} flops"


def _by_turns(loops: Mapping[tuple[str, ...], int]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for path, count in loops.items():
        found[tuple([_how_often(turns) for turns in path])] += count
    return found


def _outermost(loops: Mapping[tuple[str, ...], int]) -> list[tuple[tuple[str, ...], int]]:
    """Loops that differ for another reason than the trip count of a loop around them."""
    return [one for one in loops.items() if not any(one[0][:n] in loops for n in range(1, len(one[0])))]


def _how_often(turns: str) -> str:
    """`6`, `6-7`, `at most 128`; "" if unknown."""
    if not turns.startswith(UNKNOWN):
        return turns
    most = turns.split()[2:]
    return f"at most {most[0]}" if most else ""


@_about("literal", "constant", "shape", stage="stablehlo")
def _means(diff: ModuleDiff) -> Iterator[str]:
    """Means over more or fewer elements, if no argument was retyped and only one such change exists."""
    if diff.arguments.retyped:
        return
    old, new = map(means, (diff.old, diff.new), diff.touched)
    removed, added = old - new, new - old
    if len(removed) == len(added) == 1:
        (before, count), (after, now) = *removed.items(), *added.items()
        if count == now:
            what = "a mean is" if count == 1 else f"{count} means are"
            yield f"{what} over {after:,} elements instead of {before:,}"


@_about("moved")
def _inlined(diff: ModuleDiff) -> Iterator[str]:
    """Calls whose operations are where the call was, or the reverse, if nothing else was added or removed."""
    own = [edit for edit in diff.reported if edit.cause is None and edit.kind != "moved"]
    others = [(edit, site) for edit in own if (site := edit.new or edit.old)]
    for kind, module, are in (("removed", diff.old, "inlined"), ("added", diff.new, "no longer inlined")):
        if not all(edit.kind == kind and site.opcode in CALLS for edit, site in others):
            continue
        calls = [(edit, site.instruction_in(module).called) for edit, site in others]
        moved = (pair[kind == "added"] for edit in diff.reported if edit.kind == "moved" for pair in edit.sites)
        homes = {site.computation for site in moved if site}
        if homes and homes <= {callee for _, callees in calls for callee in callees}:
            names = [callee_of(edit) or module.computations[callees[0]].name for edit, callees in calls if callees]
            named = format_names([f"{name}()" for name in dict.fromkeys(names)])
            yield f"{many_are(sum(edit.count for edit, _ in others), 'call')} {are}: {named}"


REMATERIALISATION = "(rematerialisation)"
"""In every sentence about values that are computed again."""


@_about("added")
def _runs(diff: ModuleDiff) -> Iterator[str]:
    """Operations that were removed and added again, if nothing else was: now in a loop, or connected differently."""
    sides: dict[str, Counter[tuple[str, str]]] = {"removed": Counter(), "added": Counter()}
    times: dict[str, set[int]] = {"removed": set(), "added": set()}
    for edit in diff.reported:
        site = edit.new or edit.old
        if edit.kind not in sides or edit.cause is not None or site is None or site.opcode in CARRIERS:
            continue
        cost = edit.cost[edit.kind == "added"] if edit.cost else None
        if cost is None or cost.loops or cost.runs % edit.count:
            return
        sides[edit.kind][site.opcode, _NAMES.sub("%", site.text.partition(" = ")[2])] += edit.count
        times[edit.kind].add(cost.runs // edit.count)
    if not sides["added"] or sides["removed"] != sides["added"] or max(map(len, times.values())) != 1:
        return
    before, after = *times["removed"], *times["added"]
    if before != after and len(sides["added"]) == 1:
        ((opcode, _), count), *_ = sides["added"].items()
        run = "runs" if count == 1 else "run"
        yield f"{many(count, opcode)} {run} {many(after, 'time')} per call instead of {before}"
    elif before == after and diff.old.stage == "stablehlo":
        are_equal = all(old == new for old, new in diff.op_counts.values())
        changed = (edit for edit in diff.reported if edit.kind == "changed" and edit.cause is None)
        if are_equal and all(set(edit.fields) <= {"operands"} for edit in changed):
            yield CONNECTED_DIFFERENTLY


def _rematerialised(diff: ModuleDiff) -> Iterator[str]:
    """How many operations the backward pass computes again, if only one side has any such.

    At least so many: one whose operands reach both passes by different ways, as the state of a loop, or that the
    compiler wrote in another way, has no equal to be found by. If there is none at all, JAX's scope of what is computed
    again tells: of what came into it, or left it.
    """
    is_old, is_new = (_has_scope(module, REMATERIALISED) for module in (diff.old, diff.new))
    # Equinox's loop of checkpoints computes each step again too, without JAX's scope for that.
    if is_old == is_new or _has_scope(diff.old if is_new else diff.new, _OF_CHECKPOINTS):
        return
    scoped = [(edit, edit.new or edit.old) for edit in diff.reported if REMATERIALISED in (edit.op_name or "")]
    kinds = {edit.kind for edit, site in scoped if site is not None and site.opcode not in CARRIERS}
    if diff.old.stage == "compiled" and kinds.isdisjoint(("added", "removed")):
        return  # a compiler also gives this scope to operations that both sides compute once
    from hlodiff.differ.repeats import repeated_values

    values = repeated_values(diff.new if is_new else diff.old)
    count = sum(min(len(one.first), len(one.again)) for one in values if one.opcode not in CARRIERS)
    if not count and diff.old.stage == "stablehlo":  # in loops, which take their state from elsewhere
        kind = "added" if is_new else "removed"
        own = (edit for edit, site in scoped if edit.kind == kind and site is not None and site.opcode not in CARRIERS)
        count = sum(edit.count for edit in own)
    if count:
        again = "computed again" if is_new else "no longer computed again"
        yield f"at least {many_are(count, 'operation')} {again} in the backward pass {REMATERIALISATION}"


_OF_CHECKPOINTS = "checkpointed-bwd"


def _has_scope(module: Module, scope: str) -> bool:
    return any(scope in it.op_name for computation in module.computations for it in computation.instructions)


@_about("added", "removed", "moved", "opcode")
def _generators(diff: ModuleDiff) -> Iterator[str]:
    """A different random number generator; keys may still be split with the other one."""
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


@_about("constant")
def _constants(diff: ModuleDiff, packages: Sequence[str] = (), with_place: bool = True) -> Iterator[str]:
    """Added large constants, the constants they replace, and the removed arguments of their types."""
    size, count, old_size, old_count = 0, 0, 0, 0
    shapes: set[_Type] = set()
    first: Edit | None = None
    for edit in diff.reported:
        if edit.kind == "added" and edit.new and edit.new.opcode == "constant":
            shape = edit.new.instruction_in(diff.new).shape
            if shape.bytes >= LARGE_LITERAL_BYTES:
                size += shape.bytes * edit.count
                count += edit.count
                shapes.add((shape.element_type, shape.dimensions))
                first = first or edit
        elif edit.kind == "removed" and edit.old and edit.old.opcode == "constant":
            shape = edit.old.instruction_in(diff.old).shape
            if shape.bytes >= LARGE_LITERAL_BYTES:
                old_size += shape.bytes * edit.count
                old_count += edit.count
    if first is None:
        return
    replaced = _arguments_of(diff, shapes)
    where = place(first.source, packages=packages) if with_place else ""
    at = f", {where}" if where else ""
    if old_count:
        sizes = format_arrow(old_size, size, format_bytes)
        words = f"{many(count, 'large constant')} instead of {old_count} ({sizes}{at})"
    else:
        words = f"{many(count, 'large constant')} added ({format_bytes(size)}{at})"
    yield words + (f", {many(len(replaced), 'argument')} gone: {format_paths(replaced)}" if replaced else "")


_Type = tuple[str, tuple[int, ...]]


def _arguments_of(diff: ModuleDiff, types: Collection[_Type]) -> list[str]:
    """Paths of removed arguments that have one of these types."""
    if not types:
        return []
    found = diff.arguments
    removed = found.removed if found.added or found.removed else _edited_arguments(diff)[1][0]
    entry = diff.old.entry_computation
    its = (entry.instructions[position] for position in entry.parameters)
    chosen = [it for it in its if (it.shape.element_type, it.shape.dimensions) in types]
    return [path for it in chosen if (path := path_of(it)) in removed]


@_about("backend_config", f"attribute:{ORDER}")
def compiler_sentences(diff: ModuleDiff) -> Iterator[str]:
    """Sentences about compiler decisions that no number shows: the kind of a fusion and the order of branches.

    Example:
        >>> list(compiler_sentences(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0))))
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
        yield f"{many_are(count, 'fusion')} of kind {kind} now"
    if reordered:
        yield f"the branches of {many(reordered, 'conditional')} are in another order"


def buffer_sentences(diff: ModuleDiff, metrics: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """The sentence about an argument, donated on both sides, that gained or lost a second buffer.

    The evidence is temporary memory that grows or shrinks by the size of such an argument.

    Args:
        diff: of two compiled programs.
        metrics: old and new value of each; memory in bytes.

    Example:
        >>> list(buffer_sentences(ModuleDiff(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)), {}))
        []
    """
    old, new = metrics.get("memory.temp", (0, 0))
    by = abs(new - old)
    if diff.old.stage != "compiled" or by < _LEAST_BUFFER or not all((diff.old.computations, diff.new.computations)):
        return
    entry = diff.new.entry_computation
    donated = donations(diff.new).keys() & donations(diff.old).keys()
    if by * 2 < max(old, new):  # other buffers are larger: the size of some argument is then no evidence
        return
    if any(_writes(edit, by, ("removed", "added")[new > old]) for edit in diff.reported):
        return
    same = [
        (number, it)
        for number, it in enumerate(entry.instructions[index] for index in entry.parameters)
        if number in donated and abs(it.shape.bytes - by) <= _NEARLY * by
    ]
    for number, it in same[:1]:
        name = path_of(it) or f"number {number}"
        way = "grew" if new > old else "shrank"
        yield f"temp {way} by the size of the donated argument {name} ({format_bytes(it.shape.bytes)})"


def _writes(edit: Edit, size: float, kind: str) -> bool:
    """Whether an added or removed operation, no copy, writes a buffer of that size: then that is the buffer."""
    site, cost = edit.new or edit.old, (edit.cost or (None, None))[edit.new is not None]
    if edit.kind != kind or site is None or site.opcode.startswith("copy") or cost is None:
        return False
    return abs(cost.written - size * edit.count) <= _NEARLY * size * edit.count


@_about("layout", "shape")
def _written_buffers(diff: ModuleDiff, packages: Sequence[str]) -> Iterator[str]:
    """A buffer written in place whose layout or dimension order changed: each write may touch far more memory."""
    if edit := reordered_write(diff):
        change = next(change for change in edit.changes if change.field in ("layout", "shape"))
        where, opcode = place(edit.source, packages=packages), edit.new.opcode if edit.new else ""
        other = "has another layout" if change.field == "layout" else "has its dimensions in another order"
        at = f" at {where}" if where else ""
        yield f"the buffer that {opcode} writes {other} ({format_pair(change.old, change.new)}){at}"


_TILE = 8 * 128  # elements


def reordered_write(diff: ModuleDiff | None) -> Edit | None:
    """The first in-place write that touches shorter contiguous pieces of memory than before; None if there is none.

    All numbers of such a program may be lower and each write still slower, because it is less contiguous. The order of
    a buffer that one tile of a TPU holds costs nothing worth a word.
    """
    if diff is None:
        return None
    for edit in diff.reported:
        if edit.kind != "changed" or "element_type" in edit.fields or not (edit.old and edit.new):
            continue
        if "layout" not in edit.fields:
            if "shape" not in edit.fields:
                continue
            old, new = (
                site.instruction_in(module).shape.dimensions
                for site, module in ((edit.old, diff.old), (edit.new, diff.new))
            )
            if old == new or sorted(old) != sorted(new):  # not the same dimensions in another order
                continue
        if prod(edit.new.instruction_in(diff.new).shape.dimensions) <= _TILE:
            continue
        writes = _write(edit.old, diff.old), _write(edit.new, diff.new)
        if writes[1] is not None and (writes[0] is None or _is_apart(*writes[0], *writes[1])):
            return edit
    return None


def _write(site: Site, module: Module) -> tuple[Computation, Instruction] | None:
    """The in-place write that an instruction is, or that is the root of its fusion."""
    it, body = site.instruction_in(module), module.computations[site.computation]
    if it.opcode == "fusion" and it.called:
        body = module.computations[it.called[0]]
        it = body.instructions[body.root]
    return (body, it) if it.opcode in _WRITES else None


def _is_apart(body: Computation, old: Instruction, other: Computation, new: Instruction) -> bool:
    """Whether a write touches shorter contiguous pieces than before, or a scatter has a different order in memory."""
    if "scatter" in (old.opcode, new.opcode):
        orders = [[it.shape.dimensions[n] for n in _minor_to_major(it.shape)] for it in (old, new)]
        return old.shape.dimensions == new.shape.dimensions or orders[0] != orders[1]
    return _piece(other, new) < _piece(body, old)


def _piece(body: Computation, it: Instruction) -> int:
    """How many elements an update writes contiguously; 0 if its rank differs from the buffer's."""
    update, count = body.instructions[it.operands[1]].shape, 1
    if len(update.dimensions) != len(it.shape.dimensions):
        return 0
    for n in _minor_to_major(it.shape):
        count *= update.dimensions[n]
        if update.dimensions[n] != it.shape.dimensions[n]:
            break
    return count


def _minor_to_major(shape: Shape) -> Sequence[int]:
    known = shape.layout.minor_to_major if shape.layout is not None else ()
    return known if len(known) == len(shape.dimensions) else range(len(shape.dimensions))[::-1]


@_about("while", stage="stablehlo")
def format_unrolled(diff: ModuleDiff) -> Iterator[str]:
    """One sentence if copies of a body, or operations on all turns, replaced a loop or some turns, or the reverse.

    Args:
        diff: of two programs.

    Returns:
        at most one sentence without markup; none for compiled programs, where XLA splits and merges copies.
    """
    sides = (diff.old, diff.new, "became"), (diff.new, diff.old, "was")
    found = (*(_sentence(*side) for side in sides), _partly(diff), *(_batched(*side) for side in sides))
    yield from islice(chain.from_iterable(found), 1)


def _sentence(looped: Module, unrolled: Module, verb: str) -> Iterator[str]:
    from hlodiff.differ.unrolling import unrolling
    from hlodiff.report.program_analysis import place_of

    found = unrolling(looped, unrolled)
    if found is not None:
        here = "" if found.copies.where == found.loop else f" ({place_of(found.copies.where)})"
        yield f"the loop of {place_of(found.loop)} {verb} {found.copies.copies:,} copies of its body{here}"


def _batched(looped: Module, batched: Module, verb: str) -> Iterator[str]:
    from hlodiff.differ.unrolling import batching
    from hlodiff.report.program_analysis import place_of

    found = batching(looped, batched)
    if found is not None:
        what = (
            f"{found.turns:,} copies of its body"
            if found.copies
            else f"operations on all {found.turns:,} turns at once"
        )
        yield f"the loop of {place_of(found.loop)} {verb} {what}"


def _partly(diff: ModuleDiff) -> Iterator[str]:
    from hlodiff.differ.unrolling import partial_unrolling
    from hlodiff.report.program_analysis import place_of

    found = partial_unrolling(diff.old, diff.new)
    if found is not None:
        turns = format_pair(f"{found.turns[0]:,}", f"{found.turns[1]:,}")
        old, new = found.copies
        place, several = place_of(found.loop), found.loops > 1
        hold, turn, its = ("hold", "turn", "their") if several else ("holds", "turns", "its")
        hold, turned = (f"{hold} {new}", "less") if new > 1 else (f"no longer {hold} {old}", "more")
        which = f"{found.loops:,} loops" if several else "the loop"
        yield f"{which} of {place} {hold} copies of {its} body and {turn} {turned} often ({turns})"


@_about("compute_type", "memory_space", "added", "removed")
def moved_work(diff: ModuleDiff) -> Iterator[str]:
    """Operations that moved between host and device, then arguments and values that moved to or from host memory."""
    runs: dict[tuple[str, str], int] = {}
    for edit in diff.reported:
        for change in edit.changes:
            if change.field == "compute_type":
                pair = (change.old or "device", change.new or "device")
                runs[pair] = runs.get(pair, 0) + edit.count
    if not runs and {"added", "removed"} <= diff.contents:
        from hlodiff.differ.moves import relocations

        for one in relocations(diff):
            runs[one.old, one.new] = runs.get((one.old, one.new), 0) + one.count
    for (old, new), count in runs.items():
        yield f"{many(count, 'operation')} now {'runs' if count == 1 else 'run'} on the {new} instead of the {old}"
    if not runs:
        yield from _host_calls(diff)
    yield from other_memories(diff, with_host=True)


def other_memories(diff: ModuleDiff, with_host: bool = False) -> Iterator[str]:
    """Arguments and values whose memory space changed: to or from the host (`with_host`), or within the device.

    Within the device, what only hands on such a value, as its fusion and a tuple, is not counted again.
    """
    found: dict[tuple[str, str, str], int] = {}
    for edit in diff.reported:
        cause = () if edit.cause is None else diff.reported[edit.cause].changes
        for change in edit.changes:
            if (
                change.field == "memory_space"
                and any("host" in space for space in (change.old, change.new)) == with_host
                and (with_host or change not in cause)
            ):
                what = "argument" if is_argument(edit, diff) else "value"
                count = edit.count
                if placed := _results_in_host(edit, diff) if with_host else 0:
                    what, count = "result", placed
                key = (what, format_memory_space(change.old), format_memory_space(change.new))
                found[key] = found.get(key, 0) + count
    for (what, old, new), count in sorted(found.items(), key=lambda item: (item[0][0], -item[1])):
        yield f"{many(count, what)} now in {new} instead of {old}"


def _results_in_host(edit: Edit, diff: ModuleDiff) -> int:
    """By how many the program's results in host memory changed, if the edit is of the entry's root; else 0."""
    sides = ((edit.old, diff.old), (edit.new, diff.new))
    if not all(
        site and (site.computation, site.instruction) == (module.entry, module.entry_computation.root)
        for site, module in sides
    ):
        return 0
    counts = [len(_HOST_SPACES.findall(site.text)) for site, _ in sides if site]
    return abs(counts[1] - counts[0])


_HOST_SPACES = re.compile(r"pinned_host|S\(5\)")


def _host_calls(diff: ModuleDiff) -> Iterator[str]:
    """Computations that moved between host and device, by the host calls that were added or removed."""
    counts = {"added": 0, "removed": 0}
    for edit in diff.reported:
        site = edit.new or edit.old
        if site and edit.kind in counts and '"HostExecute"' in site.text:
            counts[edit.kind] += edit.count
    moved = counts["removed"] - counts["added"]
    if moved:
        way = "from the host to the device" if moved > 0 else "from the device to the host"
        yield f"{many(abs(moved), 'computation')} moved {way}"


def constraint_counts(diff: ModuleDiff, metrics: Metrics) -> Iterator[str]:
    """Changed counts of sharding constraints and reshards in the text.

    If the number of loops changed, only those that are new or gone altogether: counts in the text then say nothing
    about a run.
    """
    loops = metrics.get("loops", (0, 0))
    for name, words in (("sdy.sharding_constraint", "sharding constraint"), ("sdy.reshard", "reshard")):
        old, new = diff.op_counts.get(name, (0, 0))
        for edit in diff.reported:  # do not count JAX's own constraints that place nothing
            for before, after in edit.sites if edit.kind in ("added", "removed") else ():
                site, module = (before, diff.old) if before else (after, diff.new)
                if site is not None and site.opcode == name and places_nothing(site.instruction_in(module), module):
                    old, new = old - (before is not None), new - (after is not None)
        if old != new and (loops[0] == loops[1] or not old or not new):
            yield more_or_less(old, new, words)


@_about("element_type")
def other_element_types(diff: ModuleDiff) -> Iterator[str]:
    named = bool(diff.arguments.retyped)
    # Carriers only pass values on and are not counted; fusions are counted if no other value changed its type so.
    carriers = CARRIERS - {"constant"}
    values = {**_retyped(diff, named, carriers - {"fusion"}), **_retyped(diff, named, carriers)}
    net = _net_types(diff, carriers - {"fusion"}) if values else {}
    came, gone = (_types_of(diff, kind, carriers) for kind in ("added", "removed")) if values else ({}, {})
    for (old, new), count in sorted(values.items(), key=lambda item: -item[1])[:2]:
        if net[old] < 0 < net[new]:  # else values of both types were paired with each other
            least = "at least " if came[new] or gone[old] else ""  # others have it, too
            yield f"{least}{many(count, 'value')} now {new} instead of {old}"


def _types_of(diff: ModuleDiff, kind: str, carriers: Container[str]) -> Counter[str]:
    """How many values of each element type were added, or removed."""
    found = Counter[str]()
    for edit in diff.reported:
        site = edit.new or edit.old
        if edit.kind == kind and site is not None and site.opcode not in carriers:
            found[format_shape(site).partition("[")[0]] += edit.count
    return found


def _net_types(diff: ModuleDiff, carriers: Container[str]) -> Counter[str]:
    """How many more arrays of each type are computed; casts are not counted, because they stand between two types."""
    net: Counter[str] = Counter()
    for edit in diff.edits:
        changed = [(change.old, change.new) for change in edit.changes if change.field == "element_type"]
        for sign, side, site in ((-1, 0, edit.old), (1, 1, edit.new)):
            if site is not None and (site.opcode in carriers or site.opcode == "convert"):
                continue
            if arrays := arrays_of(site):
                for array in arrays:
                    net[array.element_type] += sign * edit.count
            elif changed:
                net[changed[0][side]] += sign * edit.count
            elif site is not None:
                net[format_shape(site).partition("[")[0]] += sign * edit.count
    return net


def _retyped(diff: ModuleDiff, named: bool, left_out: Container[str]) -> Counter[tuple[str, str]]:
    """How many values changed their element type; without arguments if `named`, which another sentence reports."""
    counts: Counter[tuple[str, str]] = Counter()
    for edit in diff.reported:
        site = edit.new or edit.old
        argument = is_argument(edit, diff)
        if (argument and named) or (not argument and site is not None and site.opcode in left_out):
            continue
        if site is not None and site.opcode == "fusion" and "shape" in edit.fields:  # its result is a different value
            continue
        if edit.kind == "changed" and is_rounded_anyway(edit, diff):
            continue
        cause = diff.reported[edit.cause] if edit.cause is not None else None
        if cause and "numerics" not in classes_of_edit(cause, diff):  # a different value took its place
            continue
        arrays = retyped_arrays(arrays_of(edit.old), arrays_of(edit.new))  # of a combined collective
        changed = [(change.old, change.new) for change in edit.changes if change.field == "element_type"]
        for types, count in arrays.items() if arrays else ((one, 1) for one in changed):
            if _is_rounding(*types) and not _is_same_in_both(edit, diff, types):
                counts[types] += edit.count * count
    return counts


# They return the numbers that they take.
_IN_PLACE = BROADCASTS | {"bitcast", "copy", "reshape", "transpose"}


def _is_same_in_both(edit: Edit, diff: ModuleDiff, types: tuple[str, str]) -> bool:
    """Whether a value is cast from the narrower type where it has the wider one: it holds the same numbers."""
    widths = [int(match[2]) if (match := _NUMBERS.fullmatch(one)) else 0 for one in types]
    wide = int(widths[1] > widths[0])
    site, module = (edit.old, edit.new)[wide], (diff.old, diff.new)[wide]
    place = (site.computation, site.instruction) if site is not None and widths[0] != widths[1] else None
    return place is not None and _cast_from(module, place) == types[1 - wide]


def _cast_from(module: Module, place: tuple[int, int]) -> str:
    """The element type from which a value is cast, as the root of its fusion if it is one; "" if it is no cast."""
    computation = module.computations[place[0]]
    it = computation.instructions[place[1]]
    if it.opcode == "fusion" and it.called:
        computation = module.computations[it.called[0]]
        it = computation.instructions[computation.root]
    while it.opcode in _IN_PLACE and it.operands:
        it = computation.instructions[it.operands[0]]
    if it.opcode != "convert" or not it.operands:
        return ""
    return computation.instructions[it.operands[0]].shape.element_type


_NUMBERS = re.compile(r"(bf|f|c|s|u|i|ui)(\d++)\w*")


def _is_rounding(old: str, new: str) -> bool:
    """Whether both types are the same kind of number; a mask or index in place of a number is a different value."""
    kinds = [match[1] if (match := _NUMBERS.fullmatch(word)) else None for word in (old, new)]
    return None not in kinds and len({"f" if kind == "bf" else kind for kind in kinds}) == 1


def more_or_less(old: float, new: float, one: str, several: str = "", size: tuple[float, float] = (0, 0)) -> str:
    """`2 all-gathers more (2 -> 4)`; `added` or `gone`, with bytes, if one side has none."""
    count = many(int(abs(new - old)), one, several)
    carried = f" ({format_bytes(size[1] or size[0])})" if any(size) and not (old and new) else ""
    if not old:
        return f"{count} added{carried}"
    if not new:
        return f"{count} gone{carried}"
    return f"{count} {'more' if new > old else 'fewer'} ({format_pair(f'{old:,.0f}', f'{new:,.0f}')})"
