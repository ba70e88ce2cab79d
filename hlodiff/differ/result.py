"""The result of a diff: frozen records, the same for every report. JSON fields keep name, type and meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from hlodiff.differ.instruction_costs import fused_bodies
from hlodiff.differ.limits import DEFAULTS, LimitHit, Limits
from hlodiff.differ.metrics import ExecutedCount, runs
from hlodiff.differ.placement import is_sharding_of_values
from hlodiff.differ.shape_literals import Pair, element_counts
from hlodiff.errors import DiffError
from hlodiff.hlo.grammar import called_names
from hlodiff.hlo.metadata import QUOTED, path_of
from hlodiff.hlo.model import Frame, Instruction, Module, without_garbage_collection
from hlodiff.hlo.parser import LazyComputations
from hlodiff.hlo.traversal import preorder
from hlodiff.normalizer.constants import format_elided
from hlodiff.renderers import Rendered

if TYPE_CHECKING:
    from hlodiff.differ.loops import UncountedLoop
    from hlodiff.differ.script import EditScript
    from hlodiff.differ.verify import Replay


Kind = Literal["added", "removed", "changed", "moved"]
KINDS: tuple[Kind, ...] = ("added", "removed", "changed", "moved")


@dataclass(frozen=True, slots=True)
class Site:
    """Location of an instruction: indices into its module, and what a person needs to recognize it.

    Args:
        computation: index into `Module.computations`.
        instruction: index into that computation's instructions.
        name, opcode: the instruction's own; `computation_name` its computation's.
        text: the instruction printed on one line, without metadata.
    """

    computation: int
    instruction: int
    computation_name: str
    name: str
    opcode: str
    text: str

    def instruction_in(self, module: Module) -> Instruction:
        """The instruction at this site."""
        return module.computations[self.computation].instructions[self.instruction]

    def to_json(self) -> dict[str, str]:
        """The `old` and `new` objects of an edit in JSON."""
        return {"computation": self.computation_name, "name": self.name, "opcode": self.opcode, "text": self.text}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One changed field of an instruction, both sides as text: `FieldChange("memory_space", "device", "host")`.

    Args:
        field, old, new: its name and values.
        literals: for operands, if only constants were replaced: their values. A compiler keeps one constant for all its
            users, so a changed number may appear only as a changed operand.
        of_floats: whether any of these constants is of a floating-point type.
        of_copies: for operands, if all are the values that they were, now copied by the compiler or no longer, or
            numbers and casts that the program has several times.
        of_casts: the same, now cast to another floating-point type or no longer.
    """

    field: str
    old: str
    new: str
    _: KW_ONLY
    literals: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    of_floats: bool = False
    of_copies: bool = False
    of_casts: bool = False

    @property
    def shown(self) -> tuple[str, str]:
        """Both values without the ends of long ones; shardings of many values stay whole: any of them may differ."""
        if max(len(self.old), len(self.new)) <= _LONG or any(map(is_sharding_of_values, (self.old, self.new))):
            return self.old, self.new
        cut = _cut_list if self.field == "operands" else _cut
        return cut(self.old), cut(self.new)


_LONG = 500


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]} ... ({len(text)} characters)"


def _cut_list(text: str) -> str:
    """`%a, %b and 30 more`: the beginning of a long list, and how many of it are left out."""
    if len(text) <= _LONG:
        return text
    kept = text[:_LONG].rpartition(", ")[0]
    return f"{kept} and {text.count(', ') - kept.count(', ')} more"


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of instructions in one call of the program, computed from shapes; only `cycles` is XLA's own estimate.

    Args:
        runs: how often they run, multiplied by trip counts.
        flops: of dots, convolutions, reductions and elementwise operations; a multiply-add is two.
        read, written: bytes of operands and results, without padding; 0 inside fusions, where nothing is stored, and
            for instructions that only name or pass on values. A fusion reads all of its operands.
        elsewhere: of these bytes, those in memories other than the device's main one, by memory.
        cycles: XLA's estimate if it prints one (TPU), otherwise None.
        collective: bytes of the results of collectives among them, as `collective_bytes` counts: all steps once.
        loops: enclosing loops with unknown trip counts; one iteration of each is counted.
        is_partly_in_loops: whether some of the instructions are not in all of these loops.
        is_in_branches: whether some of them are in branches of a conditional, which takes one: every branch is counted.
        family: the kind of collective, if all are of one: a fused all-reduce may be a reduce-scatter.
        is_at_most: whether some of them are in loops that may turn a little less often, as 6 or 7 times: the most is
            counted.
    """

    runs: int
    flops: int
    read: int = 0
    written: int = 0
    elsewhere: tuple[tuple[str, int], ...] = ()
    cycles: int | None = None
    collective: int = 0
    loops: tuple[UncountedLoop, ...] = ()
    is_partly_in_loops: bool = False
    is_in_branches: bool = False
    family: str = ""
    is_at_most: bool = False

    @property
    def shown_bytes(self) -> int:
        """The bytes that reports show: of results if all are collectives, otherwise read and written."""
        return self.collective if self.collective and self.written <= self.collective else self.bytes

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary; `estimated_cycles` only if XLA gives them, `one_turn_of` only inside such loops,
        `counts_every_branch` only inside branches, `counts_most_turns` only inside loops of 6 or 7 turns."""
        found: dict[str, Any] = {"runs": self.runs, "flops": self.flops, "read": self.read, "written": self.written}
        found |= {"elsewhere": dict(self.elsewhere)} if self.elsewhere else {}
        found |= {"collective": self.collective} if self.collective else {}
        found |= {"one_turn_of": [loop.name for loop in self.loops]} if self.loops else {}
        found |= {"counts_every_branch": True} if self.is_in_branches else {}
        found |= {"counts_most_turns": True} if self.is_at_most else {}
        return found | ({"estimated_cycles": self.cycles} if self.cycles is not None else {})


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that was done to the old program, `count` times (a pattern when more than once).

    Args:
        kind: added, removed, changed or moved.
        fields: names of the changed fields in a fixed order; for a move ("computation", ...) with further changes.
        count: how many instructions (or module-level facts) were edited alike.
        sites: every (old, new) place in program order; `old` is None for added, `new` for removed. Both None for
            facts of the module itself (donation of an argument).
        changes: old and new value of each field, as text, for the first site.
        op_name: JAX's scope of the first site.
        source: Python frames of the first site, innermost first.
        matcher: which matcher paired the two sides; "" for added and removed.
        cause: the root cause of a knock-on edit (its index in `ModuleDiff.edits`, see `differ/causes.py`); None for
            independent edits.
        cost: what all sites together cost on the old and on the new side, None on a side that has none; None for facts
            of the module itself.
        users_cost: of unedited instructions that take what these give: a product of as many results costs more if more
            is contracted.
        is_weak: whether its sides are matched on weak evidence only (a different opcode or literal among different
            neighbours): the script keeps the match, and reports show it as removed and added.
        kept: whether its old, and its new instruction is on both sides, unchanged: reports do not show that side.
        region: the number of its region if most of that was removed and added, otherwise None.
        is_replaced: whether the region's line really computes less of what was removed and more of what was added: only
            then reports say that one replaced the other.
        is_of_several_lines: whether fusions of several lines share the body that it is in: its line is that of any.
        passes: the XLA pass that introduced it, as text; "" if not requested.

    `old` and `new` are its first site; None where it has none on that side.
    """

    kind: Kind
    fields: tuple[str, ...] = ()
    count: int = 1
    sites: tuple[tuple[Site | None, Site | None], ...] = ()
    changes: tuple[FieldChange, ...] = ()
    op_name: str | None = None
    source: tuple[Frame, ...] = ()
    matcher: str = ""
    cause: int | None = None
    cost: tuple[Cost | None, Cost | None] | None = None
    is_weak: bool = False
    kept: tuple[bool, bool] = (False, False)
    region: int | None = None
    is_replaced: bool = False
    is_of_several_lines: bool = False
    passes: str = ""
    users_cost: tuple[Cost | None, Cost | None] = (None, None)
    old: Site | None = field(init=False, repr=False, compare=False)
    new: Site | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        old, new = self.sites[0] if self.sites else (None, None)
        object.__setattr__(self, "old", old)
        object.__setattr__(self, "new", new)

    def to_json(self) -> dict[str, Any]:
        """The edit in JSON, with `changes`, `matcher` and what it `follows`."""
        return (
            {
                "kind": self.kind,
                "fields": list(self.fields),
                "count": self.count,
                "old": self.old.to_json() if self.old else None,
                "new": self.new.to_json() if self.new else None,
                "changes": [dict(zip(("field", "old", "new"), (c.field, *c.shown), strict=True)) for c in self.changes],
                "op_name": self.op_name,
                "source": [{"file": f.file, "line": f.line, "function": f.function} for f in self.source],
                "matcher": self.matcher,
                "follows": self.cause,
                "cost": dict(zip(("old", "new"), (cost.to_json() if cost else None for cost in self.cost), strict=True))
                if self.cost
                else None,
            }
            | ({"weak": True} if self.is_weak else {})
            | ({"passes": self.passes} if self.passes else {})
        )


@dataclass(frozen=True, slots=True)
class FusionChange:
    """Fusions that became other fusions: "1 fusion became 2".

    Args:
        kind: "split", "merged", "grew", "shrank", "regrouped", "added", "removed", "dissolved" (its instructions
            stand alone now) or "formed" (the reverse).
        old: the fusion instructions of the old program.
        new: those of the new one.
        moved_in: how many instructions moved into them.
        moved_out: how many moved out.
        intermediate_bytes: bytes of values that must now be written between the new fusions (negative: no longer).
    """

    kind: str
    old: tuple[Site, ...]
    new: tuple[Site, ...]
    moved_in: int = 0
    moved_out: int = 0
    intermediate_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain dictionary."""
        return {
            "kind": self.kind,
            "old": [site.to_json() for site in self.old],
            "new": [site.to_json() for site in self.new],
            "moved_in": self.moved_in,
            "moved_out": self.moved_out,
            "intermediate_bytes": self.intermediate_bytes,
        }


# --- Arguments that were added, removed or changed type, by their JAX paths: `params['w']`.
#
# The matcher pairs arguments by their users, so a removed bias may be paired with a new argument of its shape. Users
# know arguments by their paths, so the paths of both entries are compared here.

# A path key that is a name: neither a list index nor the brackets around a name.
_KEY = re.compile(rf"{QUOTED.pattern}|[^\W\d]\w*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ArgumentChanges:
    """How the arguments of a program changed.

    Args:
        added, removed: paths, in the order of the arguments.
        renamed: (old path, new path) of arguments that only moved to another depth of a structure.
        retyped: (path, old type, new type), types without their layouts: `f32[8,4]`.
        reordered: the paths common to both programs in the new order, if the order changed.
        are_named: whether every argument has a path of its own, so that nothing else was added or removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    retyped: tuple[tuple[str, str, str], ...] = ()
    reordered: tuple[str, ...] = ()
    are_named: bool = False
    renamed: tuple[tuple[str, str], ...] = ()


def argument_changes(old: Module, new: Module) -> ArgumentChanges:
    """Compare the arguments of two programs by their paths.

    Args:
        old, new: programs of one stage.

    Returns:
        no changes if a program has an argument without a path or two with the same path: paths then do not identify
        arguments.

    Example:
        >>> argument_changes(Module("m", "compiled", (), 0), Module("m", "compiled", (), 0)) == ArgumentChanges()
        True
    """
    listed: list[list[tuple[str, str]]] = []
    for module in (old, new):
        entry = module.entry_computation if module.computations else None
        arguments = [entry.instructions[n] for n in entry.parameters] if entry else []
        listed.append([(path_of(it), it.shape.bare.text) for it in arguments])
    ours, theirs = map(dict, listed)
    if any("" in side or len(side) != len(rows) for side, rows in zip((ours, theirs), listed, strict=True)):
        return ArgumentChanges()
    before, after = ([path for path in one if path in other] for one, other in ((ours, theirs), (theirs, ours)))
    # Arguments of one type whose paths have the same names, in order: `state[0].mu`, `state[1][0].mu`.
    renamed: list[tuple[str, str]] = []
    left = [(path, shape, _KEY.findall(path)) for path, shape in theirs.items() if path not in ours]
    for path, shape in ours.items():
        names = _KEY.findall(path) if path not in theirs else []
        found = (n for n, (_, other, others) in enumerate(left) if shape == other and _has_all(names, others))
        if names and (number := next(found, None)) is not None:
            renamed.append((path, left[number][0]))
            left = left[number + 1 :]
    is_renamed = {path for pair in renamed for path in pair}
    return ArgumentChanges(
        tuple(path for path in theirs if path not in ours and path not in is_renamed),
        tuple(path for path in ours if path not in theirs and path not in is_renamed),
        tuple((path, one, theirs[path]) for path, one in ours.items() if theirs.get(path, one) != one),
        tuple(after) if before != after else (),
        bool(ours and theirs),
        tuple(renamed),
    )


def _has_all(names: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the longer list has the names of the shorter in order, with equal ends; a single name is not enough."""
    shorter, longer = sorted((names, others), key=len)
    left = iter(longer)
    is_whole = len(shorter) > 1 and (shorter[0], shorter[-1]) == (longer[0], longer[-1])
    return is_whole and all(name in left for name in shorter)


@dataclass(frozen=True, slots=True)
class ModuleDiff(Rendered):
    """The difference of two programs of one stage.

    Args:
        old: the program that was compared.
        new: the one that it was compared with.
        edits: the program channel; a pattern is one edit with a count. Largest groups of one kind first.
        schedule: edits of order only, in the same form.
        tuning: edits of GPU tiles and algorithms and of a TPU's barriers, in the same form.
        fusions: which fusions became which.
        ignored: what was seen different and dropped, by rule, with counts.
        metrics: name -> (old, new); only what can be counted in the programs themselves.
        op_counts: opcode -> (old, new), opcodes that occur on either side.
        limit_hits: limits that cut some work short, with their values. Always reported.
        kinds: the metrics apart for entry, fusions, loop bodies, branches, reductions: kind -> name -> (old, new).
        bounds: the limits it was computed with, also used for its script.
        executed: what one call of each program does, by metric: name -> (old, new), see `differ.executed`.
        elided: constants whose values are not in the programs, on the side that has more of them.
        reported: the edits as reports show them and as classes are decided by: those of `edits`, but a pair on weak
            evidence is one removed and one added.
        reported_from: for each of them the index in `edits`.
        write_script: writes the script of a difference from the matches that `diff` kept.
        not_held: header attributes that the file of one side cannot hold and the other one has.
    """

    old: Module
    new: Module
    edits: tuple[Edit, ...] = ()
    schedule: tuple[Edit, ...] = ()
    tuning: tuple[Edit, ...] = ()
    fusions: tuple[FusionChange, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    op_counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    limit_hits: tuple[LimitHit, ...] = ()
    kinds: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    executed: Mapping[str, tuple[ExecutedCount, ExecutedCount]] = field(default_factory=dict)
    bounds: Limits = DEFAULTS
    elided: int = 0
    reported: tuple[Edit, ...] = ()
    reported_from: tuple[int, ...] = ()
    write_script: Callable[[ModuleDiff], EditScript] | None = field(default=None, repr=False, compare=False)
    not_held: tuple[str, ...] = ()
    contents: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)
    """The kinds, opcodes and changed fields of the reported edits: what a program does not hold here, no sentence
    has to be looked for."""
    _arguments: ArgumentChanges | None = field(default=None, init=False, repr=False, compare=False)
    _element_counts: tuple[Pair, ...] | None = field(default=None, init=False, repr=False, compare=False)
    _fused: tuple[frozenset[int], frozenset[int]] | None = field(default=None, init=False, repr=False, compare=False)
    _runs: tuple[tuple[ExecutedCount, ...], tuple[ExecutedCount, ...]] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.edits and not self.reported:
            object.__setattr__(self, "reported", self.edits)
            object.__setattr__(self, "reported_from", tuple(range(len(self.edits))))
        sites = (site for edit in self.reported for pair in edit.sites for site in pair if site is not None)
        words = [edit.kind for edit in self.reported] + [name for edit in self.reported for name in edit.fields]
        object.__setattr__(self, "contents", frozenset([*words, *(site.opcode for site in sites)]))

    @property
    def limits(self) -> tuple[str, ...]:
        """The limits that were hit and other gaps of this comparison, as text."""
        return (*(hit.words for hit in self.limit_hits), *self.not_known)

    @property
    def not_known(self) -> tuple[str, ...]:
        """What the programs do not contain, and what in them never runs, as text."""
        unknown = [format_elided(self.elided)] if self.elided else []
        if self.not_held:
            names = ", ".join(self.not_held)
            unknown.append(f"{names}: a proto does not hold this, so whether it is the same is not known")
        return (*unknown, *format_uncalled(self.old, self.new))

    @property
    def touched(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The computations in which something was edited, on either side."""
        places = [[pair[side] for edit in self.reported for pair in edit.sites] for side in (0, 1)]
        old, new = (tuple(dict.fromkeys(site.computation for site in sites if site)) for sites in places)
        return old, new

    @property
    def element_counts(self) -> tuple[Pair, ...]:
        """Numbers of elements that differ, see `element_counts` in shape_literals; computed on first access."""
        if self._element_counts is None:
            changed = [
                ((old.computation, old.instruction), (new.computation, new.instruction))
                for edit in self.reported
                for old, new in edit.sites
                if old and new and old.opcode == new.opcode
            ]
            object.__setattr__(self, "_element_counts", element_counts(self.old, self.new, self.touched, changed))
        assert self._element_counts is not None
        return self._element_counts

    @property
    def arguments(self) -> ArgumentChanges:
        """Changes of the arguments, by their paths; computed on first access."""
        if self._arguments is None:
            object.__setattr__(self, "_arguments", argument_changes(self.old, self.new))
        assert self._arguments is not None
        return self._arguments

    @property
    def fused(self) -> tuple[frozenset[int], frozenset[int]]:
        """The bodies of fusions of either program, see `fused_bodies`; computed on first access."""
        if self._fused is None:
            object.__setattr__(self, "_fused", (frozenset(fused_bodies(self.old)), frozenset(fused_bodies(self.new))))
        assert self._fused is not None
        return self._fused

    @property
    def runs(self) -> tuple[tuple[ExecutedCount, ...], tuple[ExecutedCount, ...]]:
        """How often each computation of either program runs in one call, see `runs`; computed on first access."""
        if self._runs is None:
            object.__setattr__(self, "_runs", (runs(self.old), runs(self.new)))
        assert self._runs is not None
        return self._runs

    @property
    def identical(self) -> bool:
        """True if the program channel is empty; schedule and tuning may still differ."""
        return not self.edits

    @property
    def summary(self) -> dict[str, int]:
        """Instructions by kind of edit: an edit with count 24 counts 24."""
        return summarize(self.edits)

    @property
    def script(self) -> EditScript:
        """The edit script from the old to the new program; written on demand.

        Example:
            >>> import hlodiff
            >>> text = "HloModule m\\nENTRY e {\\n  p = f32[2]{0} parameter(0)\\n  ROOT r = f32[2]{0} sine(p)\\n}"
            >>> old, new = (hlodiff.read_text(t) for t in (text, text.replace("sine", "cosine")))
            >>> [type(step).__name__ for step in hlodiff.diff(old, new).script.steps]
            ['ChangeStep']
        """
        if self.write_script is None:
            raise DiffError("no script: not every difference comes from `diff`")
        return self.write_script(self)

    def replay(self) -> Replay:
        """Apply the edits to the old program and compare the result with the new one, edge by edge."""
        from hlodiff.differ.verify import replay

        with without_garbage_collection():
            return replay(self.script, self.elided + len(self.not_held))

    def to_json(self) -> dict[str, Any]:
        """The members of one `programs` entry that depend only on the two programs."""
        return {
            "status": "identical" if self.identical else "changed",
            "summary": self.summary,
            "metrics": {name: list(pair) for name, pair in self.metrics.items()},
            "metrics_executed": {n: [one.to_json() for one in pair] for n, pair in self.executed.items()},
            "op_counts": {name: list(pair) for name, pair in self.op_counts.items()},
            "edits": [edit.to_json() for edit in self.edits],
            "fusions": [change.to_json() for change in self.fusions],
            "channels": {
                name: {"summary": summarize(edits), "edits": [edit.to_json() for edit in edits]}
                for name, edits in (("schedule", self.schedule), ("tuning", self.tuning))
            },
            "ignored": dict(self.ignored),
            "limits": list(self.limits),
            "limits_hit": [hit.to_json() for hit in self.limit_hits],
            "elided_constants": self.elided,
        }


def summarize(edits: tuple[Edit, ...]) -> dict[str, int]:
    """Counts by kind, all four kinds always present."""
    counts: dict[str, int] = dict.fromkeys(KINDS, 0)
    for edit in edits:
        counts[edit.kind] += edit.count
    return counts


# --- Uncalled computations: they never run, and comparisons that start at the entry do not reach them.

_MOST_NAMED = 3


def uncalled(module: Module) -> tuple[int, ...]:
    """Indices of the computations that the entry never reaches.

    Args:
        module: any program; of one that is read lazily nothing more is read.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> spare = "s {\\n  ROOT p = f32[] parameter(0)\\n}\\n"
        >>> uncalled(read_hlo("HloModule m\\n" + spare + "ENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}"))
        (0,)
    """
    computations = module.computations
    if isinstance(computations, LazyComputations):
        text, spans = computations.text, computations.spans
        places = {span.name: index for index, span in enumerate(spans)}
        reached = preorder(
            [module.entry],
            lambda index: [places[name] for name in called_names(spans[index].body_of(text)) if name in places],
        )
    else:
        reached = preorder(
            [module.entry] if computations else [],
            lambda index: computations[index].callees,
        )
    known = set(reached)
    return tuple(index for index in range(len(computations)) if index not in known)


def format_uncalled(old: Module, new: Module) -> tuple[str, ...]:
    """Text about uncalled computations that only one of two programs has.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> entry, spare = "ENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}", "s {\\n  ROOT p = f32[] parameter(0)\\n}\\n"
        >>> format_uncalled(*(read_hlo("HloModule m\\n" + more + entry) for more in ("", spare)))
        ('1 computation that nothing calls is only in the new program (%s); it runs nowhere and is not an edit',)
    """
    places = uncalled(old), uncalled(new)
    if not places[0] and not places[1]:
        return ()
    contents = [
        [_content(module, index) for index in indices] for module, indices in zip((old, new), places, strict=True)
    ]
    found = []
    for side, word in ((0, "old"), (1, "new")):
        module = (old, new)[side]
        others, names = Counter(contents[1 - side]), []
        for index, content in zip(places[side], contents[side], strict=True):
            if others[content]:
                others[content] -= 1
            else:
                names.append(f"%{module.computations[index].name}")
        if names:
            what = "1 computation" if len(names) == 1 else f"{len(names):,} computations"
            verb, runs = ("is", "it runs nowhere and is not an edit")
            if len(names) > 1:
                verb, runs = "are", "they run nowhere and are not edits"
            more = ", ..." if len(names) > _MOST_NAMED else ""
            listed = ", ".join(names[:_MOST_NAMED]) + more
            found.append(f"{what} that nothing calls {verb} only in the {word} program ({listed}); {runs}")
    return tuple(found)


def _content(module: Module, index: int) -> tuple[object, ...]:
    """What a computation does, without names."""
    computation = module.computations[index]
    rows = ((it.opcode, it.shape, it.operands, it.attributes, it.literal) for it in computation.instructions)
    return computation.root, computation.execution_thread, tuple(sorted(computation.attributes)), *rows
