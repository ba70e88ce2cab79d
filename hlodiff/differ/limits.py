"""Limits on the work of the differ, and the record of a limit that was hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the search for the shortest list of edits; the list is complete whatever they are.

    Args:
        assignment: unmatched instructions of a computation, on both sides, that are assigned at once by least cost;
            where one side has fewer, the other may have more. The time goes with their product, 0.4 s for 200 and 200.
        search: instruction costs computed per edited instruction in one round of the search for shorter lists; all
            computations of two programs together get 200 times that, by size, and then keep their result.
        moves: pairs of equal instructions, of one opcode and type, compared to find which moved where.
        move_rounds: rounds in which moves are found along chains of moved instructions, two of a chain in each.
        unrelated: percentage of instructions in common below which two programs of some size are not matched, only
            their arguments are; a third of it where they take and return the same types, one and a half times as much
            without the sizes of arrays where only those differ; measured at the end of `differ/pipeline.py`. 1 matches
            nearly any two.

    Example:
        >>> Limits(search=1000).search
        1000
    """

    assignment: int = 200
    search: int = 400
    moves: int = 20_000
    move_rounds: int = 16
    unrelated: int = 33


DEFAULTS = Limits()
_LONGER = "matching was cut short in {}: the edits are correct but may not be the fewest"
_UNSEEN = "in {} some moved instructions may be listed as removed and added"
# What a limit means for the list of edits; the braces are filled with the number of computations.
_WORDS = {"assignment": _LONGER, "search": _LONGER, "moves": _UNSEEN, "move_rounds": _UNSEEN}


@dataclass(frozen=True, slots=True)
class LimitHit:
    """A limit that cut some work short.

    Args:
        name: a field of `Limits`.
        value: what it was.
        computations: in how many computations; a pair counts once; for moves, those of both programs count.
        words: the same in one sentence, with the key that raises it.
    """

    name: str
    value: int
    computations: int
    words: str

    @property
    def kind(self) -> str:
        """What it means for the edits: hits of several limits and programs that mean the same are one sentence."""
        return _WORDS.get(self.name, self.words)

    def to_json(self) -> dict[str, object]:
        """Plain dictionary."""
        return asdict(self)


def format_hits(hits: Sequence[LimitHit]) -> str:
    """One sentence for hits of one kind in several programs.

    Example:
        >>> hits = [*hits_of(Limits(), {"moves": 1}), *hits_of(Limits(), {"moves": 4, "move_rounds": 1})]
        >>> format_hits(hits)[:31], format_hits(hits)[-49:-18]
        ('in up to 4 computations some mo', 'and limits.move_rounds (now 16)')
    """
    counts = {hit.computations for hit in hits}
    if hits[0].name not in _WORDS:
        return hits[0].words
    raised = {hit.name: hit.value for hit in hits}
    return _format_hit(raised, max(counts), "up to " if len(counts) > 1 else "")


def hits_of(limits: Limits, computations: Mapping[str, int]) -> tuple[LimitHit, ...]:
    """The limits that were hit, in the order of the fields of `Limits`.

    Args:
        limits: the limits in force.
        computations: by name, in how many computations a limit was hit.

    Returns:
        one record for each limit that was hit.

    Example:
        >>> [hit.name for hit in hits_of(Limits(), {"search": 2, "moves": 0})]
        ['search']
    """
    return tuple(
        LimitHit(name, getattr(limits, name), count, _format_hit({name: getattr(limits, name)}, count))
        for name in _WORDS
        if (count := computations.get(name, 0))
    )


def unrelated_hit(limits: Limits, share: float) -> LimitHit:
    """The record of two programs that were not matched.

    Example:
        >>> unrelated_hit(Limits(), 0.07).words[:27]
        'only 7 % in common; all but'
    """
    words = (
        f"only {100 * share:.0f} % in common; all but the arguments is listed as removed and added; lower "
        f"limits.unrelated (now {limits.unrelated}) in [tool.hlodiff] to match them all the same"
    )
    return LimitHit("unrelated", limits.unrelated, 1, words)


def _format_hit(raised: Mapping[str, int], count: int, most: str = "") -> str:
    where = most + ("1 computation" if count == 1 else f"{count:,} computations")
    keys = " and ".join(f"limits.{name} (now {value})" for name, value in raised.items())
    words = _WORDS[next(iter(raised))].format(where)
    return f"{words}; to search longer, raise {keys} in [tool.hlodiff]"
