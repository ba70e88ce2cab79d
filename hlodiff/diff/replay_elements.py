"""May elements of a tuple be numbered anew? Only where a loop begins, runs, is asked and ends with the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hlodiff.diff.rebuilt import Node, Rebuilt
from hlodiff.diff.script import Script

# A loop, and the call of a computation that is nothing but one.
_CARRIERS = ("while", "call")


def check_elements(script: Script, made: Rebuilt, others: Sequence[Rebuilt]) -> Iterator[str]:
    """Where a script numbers elements otherwise than the tuples do that it leaves alone.

    Args:
        script: the script, for the parameters of what loops call.
        made: the replayed computation.
        others: all replayed computations, by pair.

    Yields:
        one sentence for each place.
    """
    for place, pairs in made.pair.elements:
        node, elements = made.nodes[place], dict(pairs)
        if node.opcode in _CARRIERS and len(node.operands) == 1:
            reason = _loop(script, made, node, elements, others)
        elif node.opcode == "parameter":
            callers = [(one, at) for one in others for at, each in one.nodes.items() if _calls(each, made.index)]
            fits = all(
                dict(one.pair.elements).get(at) == pairs and one.nodes[at].opcode in _CARRIERS for one, at in callers
            )
            reason = "" if callers and fits else "no loop numbers them so"
        else:
            reason = "it is no loop"
        if not reason and not _taken(made, place, elements):
            reason = "an element that is none of them is taken"
        if reason:
            yield f"the elements of {made.name(node.old)} are numbered anew, but {reason}"


def _calls(node: Node, index: int) -> bool:
    return any(index in refs for _, refs in node.calls)


def _loop(script: Script, made: Rebuilt, node: Node, elements: Mapping[int, int], others: Sequence[Rebuilt]) -> str:
    """Why a loop has not these elements where it begins, runs and ends; "" where it has.

    Where an edit names all operands of a tuple, that says enough; but not of both, what it begins and ends with.
    """
    begins = node.operands[0] if node.operands else None
    tuples = [(made, begins[0] if begins else None)]
    for inner in (others[ref] for _, refs in node.calls for ref in refs):
        if inner.pair.old < 0 or inner.pair.new < 0:
            return "it runs something else"
        new = script.new.computations[inner.pair.new]
        known = dict(inner.pair.elements)
        if any(dict(known.get(place, ())) != elements for place in new.parameters()):
            return "what it runs takes others"
        if new.instructions[new.root].shape.tuple_shapes:
            tuples.append((inner, inner.root))
    nodes = [one.nodes.get(place) if place is not None else None for one, place in tuples]
    named = [node is not None and node.is_rewired for node in nodes]
    named[0] = named[0] or (nodes[0] is not None and _is_given_named(made, nodes[0], others))
    fits = (is_named or _consists_of(*each, elements) for each, is_named in zip(tuples, named, strict=True))
    return "" if all(fits) and not all(named) else "what it begins with or returns is not"


def _is_given_named(made: Rebuilt, node: Node, others: Sequence[Rebuilt]) -> bool:
    """Whether an edit names all operands of the tuple that a call hands on as this parameter."""
    if node.opcode != "parameter":
        return False
    callers = [(one, each) for one in others for each in one.nodes.values() if _calls(each, made.index)]
    begins = [one.nodes.get(value[0]) for one, each in callers for value in each.operands[:1] if value is not None]
    return any(begin is not None and begin.is_rewired for begin in begins)


def _consists_of(made: Rebuilt, place: int | None, elements: Mapping[int, int]) -> bool:
    """Whether a tuple has just these elements, those before that were there before.

    What is itself numbered so is looked at where it stands.
    """
    node = made.nodes.get(place) if place is not None else None
    if place is not None and dict(dict(made.pair.elements).get(place, ())) == elements:
        return True
    if node is None or made.old is None or node.old < 0 or node.opcode != "tuple":
        return False
    before = made.old.instructions[node.old]
    return before.opcode == "tuple" and dict(node.moved) == elements and len(before.operands) == node.slots


def _taken(made: Rebuilt, place: int, elements: Mapping[int, int]) -> bool:
    """Whether all that survives takes elements that are there before and after."""
    for node in made.nodes.values():
        if node.old < 0 or made.old is None or "index" in node.settled:
            continue
        it = made.old.instructions[node.old]
        number = it.attribute("index") or ""
        takes = it.opcode == "get-tuple-element" and made.pair.partners[it.operands[0]] == place
        if takes and (not number.isdigit() or int(number) not in elements):
            return False
    return True
