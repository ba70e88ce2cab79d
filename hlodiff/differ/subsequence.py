"""Longest common subsequence: which elements of two sequences are the same when some were added or removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_ONE_MORE = 10**6
"""One more pair outweighs any likeness."""


def longest_common_subsequence(
    old: Sequence[object], new: Sequence[object], likeness: Callable[[int, int], int] = lambda a, b: 0
) -> list[tuple[int, int]]:
    """The longest common subsequence of two sequences; among several, the one with the most similar pairs.

    Wagner and Fischer, "The String-to-String Correction Problem" (1974), with weights; quadratic in time. The standard
    library's matcher has no weights, and prefers one long block to more pairs.

    Args:
        old, new: the sequences; elements that are equal may be paired.
        likeness: for the positions of two equal elements a number from 0 to 1,000; more is better.

    Returns:
        pairs of positions, in order.

    Example:
        >>> longest_common_subsequence("abcd", "acxd")
        [(0, 0), (2, 1), (3, 3)]
    """
    worth = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for a in reversed(range(len(old))):
        row, below = worth[a], worth[a + 1]
        for b in reversed(range(len(new))):
            best = max(below[b], row[b + 1])
            if old[a] == new[b]:
                best = max(best, below[b + 1] + _ONE_MORE + likeness(a, b))
            row[b] = best
    pairs: list[tuple[int, int]] = []
    a = b = 0
    while a < len(old) and b < len(new):
        if worth[a][b] > max(worth[a + 1][b], worth[a][b + 1]):
            pairs.append((a, b))
            a, b = a + 1, b + 1
        elif worth[a + 1][b] >= worth[a][b + 1]:
            a += 1
        else:
            b += 1
    return pairs
