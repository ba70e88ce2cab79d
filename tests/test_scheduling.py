"""Tests of one file that stand together run in one process, in their order; no process waits for another's file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.scheduling import pieces, scheduling

TESTS = [
    "tests/a.py::one[x::y]",
    "tests/a.py::two",
    "tests/b.py::one",
    "tests/b.py::two",
    "tests/a.py::slow",
    "tests/a.py::slower",
    "tests/c.py::slow",
]


class Process:
    """What xdist knows as a node: it is told the numbers of the tests it is to run."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.shutting_down = False
        self.gateway = SimpleNamespace(id="process")

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.numbers += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def test_neighbours_of_one_file_are_a_piece() -> None:
    assert list(pieces(TESTS).items()) == list(
        zip(TESTS, ["0 tests/a.py"] * 2 + ["1 tests/b.py"] * 2 + ["2 tests/a.py"] * 2 + ["3 tests/c.py"], strict=True)
    )


def test_processes_get_pieces_in_their_order() -> None:
    option = SimpleNamespace(loadscopereorder=False)
    run: Any = scheduling(SimpleNamespace(getvalue=lambda name: ["2*popen"], option=option), None)  # type: ignore[arg-type]
    one, two = Process(), Process()
    for process in (one, two):
        run.add_node(process)
        run.add_node_collection(process, TESTS)
    run.schedule()
    assert (one.numbers, two.numbers) == ([0, 1, 4, 5], [2, 3, 6]), "a piece at work, and the next one"
    for number in range(2, 4):
        run.mark_test_complete(two, number)
    assert two.shutting_down and not run.tests_finished
    for number in (0, 1, 4, 5):
        run.mark_test_complete(one, number)
    run.mark_test_complete(two, 6)
    assert run.tests_finished
