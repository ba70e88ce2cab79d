"""Growth classes of series of counts: exact, and not shaken by what is no growth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlodiff.differ import QUANTITIES, growth_series

SIZES = ((8, 16, 32, 64), (1, 2, 3), (2, 4, 8), (10, 100, 1000), (3, 5, 8, 13, 21))


def fit(sizes: Sequence[int], values: Sequence[int], what: str = "instructions") -> Any:
    """The growth of one quantity that a program has at these sizes."""
    at = [dict.fromkeys(QUANTITIES, 1) | {what: value} for value in values]
    (found,) = [one.fit for one in growth_series(sizes, at) if one.name == what]
    return found


def kind(sizes: tuple[int, ...], count: Callable[[int], int]) -> str:
    return str(fit(sizes, [count(size) for size in sizes]).kind)


@pytest.mark.parametrize("sizes", SIZES)
def test_classes_at_all_kinds_of_sizes(sizes: tuple[int, ...]) -> None:
    assert kind(sizes, lambda n: 100) == "constant"
    assert kind(sizes, lambda n: 500 - n % 500) == "constant" or sizes[-1] > 500, "what shrinks does not grow"
    assert kind(sizes, lambda n: 2000 + n) == "linear", "one operation for each, however large the rest"
    assert kind(sizes, lambda n: 50 + 30 * n) == "linear"
    assert kind(sizes, lambda n: 60 * n * n + 7) == "quadratic"
    assert kind(sizes, lambda n: 10 * n**3) == "more"


@pytest.mark.parametrize("sizes", SIZES)
def test_a_few_operations_that_depend_on_whether_a_size_is_odd_change_nothing(sizes: tuple[int, ...]) -> None:
    assert kind(sizes, lambda n: 100 + n % 2 * 3) == "constant"
    assert kind(sizes, lambda n: 50 + 30 * n + n % 2 * 3) == "linear"
    assert kind(sizes, lambda n: 50 + 60 * n * n + n % 2 * 3) == "quadratic"


def test_a_loop_that_is_unrolled_by_four_is_linear() -> None:
    assert kind((8, 18, 33, 66), lambda n: 100 + 30 * -(-n // 4)) == "linear"


def test_a_logarithm_is_told_from_a_line() -> None:
    assert kind((8, 16, 32, 64), lambda n: 40 + 9 * int(math.log2(n))) == "logarithmic"
    assert kind((10, 100, 1000), lambda n: 40 + round(20 * math.log2(n))) == "logarithmic"


def test_slope_and_exponent_are_told() -> None:
    assert fit((8, 16, 32), (90, 170, 330)).slope == 10.0
    assert fit((8, 16, 32, 64), [n**3 for n in (8, 16, 32, 64)]).words == "more (about n^3.0)"


def test_one_jump_counts_as_growth() -> None:
    assert fit((8, 16, 32, 64), (100, 100, 400, 400)).kind == "linear"


def test_bytes_of_text_may_grow_with_the_digits_of_a_size() -> None:
    values = [20_000 + 400 * len(str(n)) for n in (8, 16, 512, 4096)]
    assert fit((8, 16, 512, 4096), values, "text_bytes").kind == "constant"
    assert fit((8, 16, 32, 64), [n * 500 for n in (8, 16, 32, 64)], "text_bytes").kind == "linear"


sizes_of_users = st.lists(st.integers(1, 300), min_size=3, max_size=6, unique=True).map(sorted)


@given(sizes_of_users, st.integers(0, 10_000), st.integers(1, 200))
def test_an_exact_line_is_always_linear(sizes: list[int], offset: int, slope: int) -> None:
    found = fit(sizes, [offset + slope * n for n in sizes])
    assert (found.kind, found.slope) == ("linear", slope)


@given(sizes_of_users, st.integers(10, 10_000), st.lists(st.integers(0, 4), min_size=6, max_size=6))
def test_noise_alone_grows_only_where_it_lies_on_a_line(sizes: list[int], offset: int, noise: list[int]) -> None:
    values = [offset + extra for extra, _ in zip(noise, sizes, strict=False)]
    assert fit(sizes, values).kind in ("constant", "linear")


@given(st.lists(st.integers(1, 50), min_size=3, max_size=6, unique=True).map(sorted), st.integers(0, 500), st.data())
def test_every_series_has_a_class_and_the_same_twice(sizes: list[int], offset: int, data: st.DataObject) -> None:
    values = [offset + data.draw(st.integers(0, 10**6)) for _ in sizes]
    assert fit(sizes, values).kind in ("constant", "logarithmic", "linear", "quadratic", "more")
    assert fit(sizes, values) == fit(sizes, values)
