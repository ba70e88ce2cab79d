"""Which tests one process of pytest-xdist runs together."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import pytest
from xdist.scheduler import LoadFileScheduling


def pieces(tests: Iterable[str]) -> dict[str, str]:
    """Each test's piece of work: the neighbours of one file, which share what they compiled.

    Marks that do the same, `--dist loadgroup`, are without effect with xdist 3.8 and pytest 9.2.
    """
    neighbours = enumerate(groupby(tests, lambda test: test.partition("::")[0]))
    return {test: f"{number} {file}" for number, (file, group) in neighbours for test in group}


class _InPieces(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Gives the pieces out in the order in which they were collected."""

    pieces: dict[str, str]

    def schedule(self) -> None:
        if self.collection is None:
            self.pieces = pieces(next(iter(self.registered_collections.values())))
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self.pieces[nodeid]


def scheduling(config: pytest.Config, log: object) -> object:
    """The scheduler of a run."""
    return _InPieces(config, log)
