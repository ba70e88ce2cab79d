"""How much the differ may try, and what it says where that was not enough."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is spent on finding the shortest script; a diff is complete whatever they are.

    Args:
        search: prices worked out for each edited instruction of a computation in one round of the search.
    """

    search: int = 400
