"""What holds of every normalized program: blind to noise, valid, idempotent, and one edit is a handful of lines."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hlodiff.hlo import Module, mlir, print_hlo, read_hlo
from hlodiff.normalizer import normalize, to_text
from tests import noise, single_edits
from tests.oracle import Fact, model_facts, xla_facts

REAL = sorted((Path(__file__).parent / "fixtures" / "normalize" / "real").glob("*.hlo"))
SMALL = [path for path in REAL if path.stat().st_size < 30_000]
steps = st.lists(st.sampled_from(noise.ALL), min_size=1, max_size=5)


@cache
def raw(path: Path) -> Module:
    return read_hlo(path.read_text())


@cache
def text_of(path: Path) -> str:
    return to_text(normalize(raw(path)))


def test_there_are_programs_of_all_three_backends() -> None:
    assert {path.name.split(".")[1] for path in SMALL} == {"cpu", "tpu", "cuda"}


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_normalized_programs_are_valid_and_normalize_to_themselves(path: Path) -> None:
    text = text_of(path)
    mlir.hlo_from_text(text)
    whole = print_hlo(with_unique_names(read_hlo(text)))
    assert plain(model_facts(read_hlo(whole))) == plain(xla_facts(whole))
    assert to_text(normalize(read_hlo(text))) == text


def plain(facts: set[Fact]) -> set[Fact]:
    """Without asynchronous pairs, which XLA's parser unfolds into wrappers; `condition` and `body` in one order."""
    kept = (fact for fact in facts if not fact.opcode.endswith(("-start", "-done", "-update")))
    return {
        fact._replace(called=tuple(sorted(fact.called)))
        for fact in kept
        if not fact.computation.startswith("async_wrap")
    }


def with_unique_names(module: Module) -> Module:
    """XLA's parser renames instructions of different computations that share a name; the structure is what counts."""
    computations = [
        replace(c, instructions=tuple(replace(it, name=f"{c.name}_{it.name}") for it in c.instructions))
        for c in module.computations
    ]
    return replace(module, computations=tuple(computations))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SMALL), steps, st.integers(0, 2**32))
def test_noise_does_not_change_a_byte(path: Path, makers: list[noise.Noise], seed: int) -> None:
    chance = random.Random(seed)
    module = raw(path)
    for make in makers:
        module = make(module, chance)
    assert to_text(normalize(module)) == text_of(path)


@pytest.mark.parametrize("make", noise.ALL, ids=lambda make: make.__name__)
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_each_kind_of_noise_on_each_program(path: Path, make: noise.Noise) -> None:
    module = make(raw(path), random.Random(path.name))
    assert to_text(normalize(module)) == text_of(path)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_copies_of_a_computation_become_one_again(path: Path) -> None:
    module, chance = normalize(raw(path)), random.Random(path.name)
    for _ in range(5):
        module = noise.copy_computations(module, chance)
    assert to_text(normalize(module)) == text_of(path)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SMALL), st.lists(st.sampled_from(noise.ALL), min_size=1, max_size=3), st.integers(0, 2**32))
def test_noise_without_a_schedule(path: Path, makers: list[noise.Noise], seed: int) -> None:
    text = path.read_text().replace(", is_scheduled=true", "")
    module, chance = read_hlo(text), random.Random(seed)
    first = to_text(normalize(module))
    for make in (*makers, noise.reorder_instructions):
        module = make(module, chance)
    assert to_text(normalize(module)) == first
    assert to_text(normalize(read_hlo(first))) == first


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SMALL), st.sampled_from(single_edits.ALL), st.integers(0, 2**32))
def test_an_edit_is_never_normalized_away_and_its_text_is_still_normal(
    path: Path, edit: single_edits.Edit, seed: int
) -> None:
    chance = random.Random(seed)
    new = single_edits.edited(normalize(raw(path)), edit, chance)
    if new is None:
        return
    text = to_text(normalize(new))
    if edit is not single_edits.swap:  # operands of a commutative operation may swap for nothing
        assert text != text_of(path)
    assert to_text(normalize(read_hlo(text))) == text
    mlir.hlo_from_text(print_hlo(read_hlo(text_of(path))))


def churn(old: str, new: str) -> int:
    """Lines that are in one text only; a moved line counts nothing here, `names.py` has figures of `diff`."""
    before, after = Counter(old.splitlines()), Counter(new.splitlines())
    return sum((before - after).values()) + sum((after - before).values())


def test_one_edit_changes_a_handful_of_lines() -> None:
    found: dict[str, list[int]] = {edit.__name__: [] for edit in single_edits.ALL}
    for path in REAL:
        module, chance = normalize(raw(path)), random.Random(path.name)
        for edit in single_edits.ALL:
            for _ in range(3):
                new = single_edits.edited(module, edit, chance)
                if new is not None:
                    found[edit.__name__].append(churn(text_of(path), to_text(normalize(new))))
    everything = [count for counts in found.values() for count in counts]
    assert len(everything) > 150
    assert median(everything) <= 4
    assert {name: median(counts) for name, counts in found.items() if name in ("literal", "layout")} == {
        "literal": 2,
        "layout": 2,
    }
    assert all(median(counts) <= 12 for counts in found.values()), {n: median(c) for n, c in found.items()}
