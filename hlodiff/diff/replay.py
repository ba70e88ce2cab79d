"""Proves that a diff is complete: its edits, carried out on the old program, give the new one.

Shares nothing with the matcher: it takes a script, does what the script says to the old program and nothing else, and
compares the outcome with the new program, field by field and edge by edge. The script says which instruction is which,
so no search is needed: that two programs are isomorphic is proved by showing the isomorphism.

What is compared is what `diff` compares: names, order where nothing is scheduled, provenance and noise are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hlodiff.diff.rebuilt import Rebuilt, rebuild
from hlodiff.diff.replay_checks import check
from hlodiff.diff.replay_elements import check_elements
from hlodiff.diff.replay_header import check_header
from hlodiff.diff.replay_wires import check_wires
from hlodiff.diff.script import Header, Reordered, Script, Step

MOST_FAILURES = 5


@dataclass(frozen=True, slots=True)
class Replay:
    """How a replay went.

    Args:
        steps: how many were carried out.
        edits: how many edits they belong to.
        failures: the first places where the outcome is not the new program, in words; () where it is.
        missing: how many such places there are in all.
    """

    steps: int
    edits: int
    failures: tuple[str, ...] = ()
    missing: int = 0

    @property
    def complete(self) -> bool:
        """True where the edits turn the old program into the new one."""
        return not self.missing


def replay(script: Script) -> Replay:
    """Carry out a script and compare the outcome with the new program.

    Args:
        script: of a diff.

    Returns:
        whether that gives the new program, and where it does not.

    Example:
        >>> from hlodiff.ir.model import Computation, Instruction, Module, Shape
        >>> from hlodiff.diff.script import Pair
        >>> one, two = (Instruction("a", opcode, Shape("f32")) for opcode in ("sine", "cosine"))
        >>> old, new = (Module("m", "compiled", (Computation("e", (it,), 0),), 0) for it in (one, two))
        >>> replay(Script(old, new, (Pair(0, 0, (0,)),), (), ())).failures
        ('%a (sine) of %e: opcode is sine, in the new program it is cosine, and no edit says so',)
    """
    failures = list(_failures(script))
    edits = {(step.charge.channel, step.charge.edit) for step in script.steps}
    return Replay(len(script.steps), len(edits), tuple(failures[:MOST_FAILURES]), len(failures))


def _failures(script: Script) -> Iterator[str]:
    steps: list[list[Step]] = [[] for _ in script.pairs]
    header: list[Header] = []
    for step in script.steps:
        if isinstance(step, Header):
            header.append(step)
        else:
            steps[step.pair].append(step)
    if not script.pairs or (script.pairs[0].old, script.pairs[0].new) != (script.old.entry, script.new.entry):
        yield "the entries of the two programs do not correspond"
        return
    made = [rebuild(script, index, mine) for index, mine in enumerate(steps)]
    for one, mine in zip(made, steps, strict=True):
        yield from one.failures
        yield from check(script, one, made)
        yield from check_wires(one, mine, made)
        yield from check_elements(script, one, made)
    yield from _check_threads(script, made)
    yield from _check_channels(script, made)
    yield from check_header(script, made[0], header)
    yield from _check_order(script, made, [s for s in script.steps if isinstance(s, Reordered)])
    yield from _check_told(script)
    yield from _check_counts(script)


def _check_counts(script: Script) -> Iterator[str]:
    """An edit counts the call sites that lead to each place that it tells of."""
    sites: dict[tuple[str, int], dict[int, int]] = {}
    for step in script.steps:
        count = 1 if isinstance(step, Header) or step.charge.channel == "schedule" else script.pairs[step.pair].count
        counts = sites.setdefault((step.charge.channel, step.charge.edit), {})
        counts[step.charge.site] = min(count, counts.get(step.charge.site, count))
    seen: dict[str, int] = {}
    for channel, kind, _, count in script.reported:
        number = seen[channel] = seen.get(channel, -1) + 1
        reached = sum(sites.get((channel, number), {}).values())
        if reached != count:
            yield f"edit {number + 1} of {channel} ({kind}) counts {count} and is reached {reached} times"


def _check_told(script: Script) -> Iterator[str]:
    """Every reported site must have been done somewhere."""
    done = {(step.charge.channel, step.charge.edit, step.charge.site) for step in script.steps}
    seen: dict[str, int] = {}
    for channel, kind, sites, _ in script.reported:
        number = seen[channel] = seen.get(channel, -1) + 1
        missing = [site for site in range(sites) if (channel, number, site) not in done]
        if missing:
            yield f"edit {number + 1} of {channel} ({kind}): {len(missing)} of its {sites} sites are nowhere to be done"


def _check_threads(script: Script, made: Sequence[Rebuilt]) -> Iterator[str]:
    """A computation runs where it ran, unless what calls it is said to call it elsewhere now."""
    told = {
        ref
        for one in made
        for node in one.nodes.values()
        if "thread" in node.facts or node.old < 0
        for _, refs in node.calls
        for ref in refs
    }
    for one in made:
        if one.old is None or one.pair.new < 0:
            continue
        new = script.new.computations[one.pair.new]
        if one.old.execution_thread != new.execution_thread and one.index not in told:
            yield f"%{one.old.name} runs on another thread, and no edit says so"
        if sorted(one.old.attributes) != sorted(new.attributes):
            yield f"the attributes of %{one.old.name} changed, and no edit says so"


def _check_channels(script: Script, made: Sequence[Rebuilt]) -> Iterator[str]:
    """Numbers of channels mean nothing, but who shared one shares one still."""
    there: dict[str, str] = {}
    back: dict[str, str] = {}
    for one in made:
        for place, node in one.nodes.items() if one.pair.new >= 0 else ():
            before = node.attributes.get("channel_id")
            after = script.new.computations[one.pair.new].instructions[place].attribute("channel_id")
            if before is None or after is None or "channel_id" in node.settled or not node.is_copy:
                continue
            if there.setdefault(before, after) != after or back.setdefault(after, before) != before:
                yield f"{one.name(node.old)} meets others on its channel than before, and no edit says so"


_STEPS = ("while", "conditional", "call")
# They take no time and stand wherever the printer puts them.
_NOT_SCHEDULED = frozenset(["parameter", "constant", "get-tuple-element", "tuple", "bitcast"])


def _check_order(script: Script, made: Sequence[Rebuilt], reordered: Iterable[Reordered]) -> Iterator[str]:
    """In scheduled programs what runs step by step runs in the order that it had, unless an edit says otherwise."""
    if any(module.attribute("is_scheduled") != "true" for module in (script.old, script.new)):
        return
    told = {step.pair for step in reordered}
    waiting = [0]
    for index in waiting:
        one = made[index]
        olds = [(node.old, place) for place, node in one.nodes.items() if node.old >= 0]
        places = [
            place
            for old, place in sorted(olds)
            if one.old is not None and _takes_time(one.old.instructions[old].opcode, one.nodes[place].opcode)
        ]
        if places != sorted(places) and index not in told:
            yield f"the instructions of %{one.old.name if one.old else ''} run in another order, and no edit says so"
        nodes = [node for node in one.nodes.values() if node.opcode in _STEPS]
        waiting += dict.fromkeys(ref for n in nodes for _, refs in n.calls for ref in refs if ref not in waiting)


def _takes_time(*opcodes: str) -> bool:
    return _NOT_SCHEDULED.isdisjoint(opcodes)
