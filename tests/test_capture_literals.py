"""The numbers of constants are in what is captured: a changed table changes the program."""

from __future__ import annotations

import os

import jax
import numpy as np
import pytest

import hlodiff
from hlodiff.capture import CapturedProgram
from hlodiff.capture.literals import PRINTED_BYTES, compiled_text
from hlodiff.hlo import Module, read_text
from hlodiff.normalizer import normalize, to_text
from tests.captured_programs import ABSENT, THREE, Project, outcomes
from tests.captured_programs import project as project

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # before JAX looks for other devices


LARGE = PRINTED_BYTES // 4 + 1


def compiled(*tables: np.ndarray, dtype: str = "float32") -> jax.stages.Compiled:
    arguments = [jax.ShapeDtypeStruct(table.shape, dtype) for table in tables]
    return jax.jit(lambda *xs: [x + y for x, y in zip(xs, tables, strict=True)]).lower(*arguments).compile()


def numbers(count: int, last: float = 0.0) -> np.ndarray:
    table = np.random.RandomState(0).uniform(size=count).astype("float32")
    table[-1] = last
    return table


def edited(old: Module, new: Module) -> list[str]:
    return [edit.kind for edit in hlodiff.diff(old, new).edits]


@pytest.mark.skipif(bool(ABSENT), reason=f"cannot compile for {ABSENT}")
def test_a_changed_table_is_seen_on_every_target(project: Project) -> None:
    config = project(
        f"""
        import numpy as np
        def case(count, last):
            table = np.random.RandomState(0).uniform(size=count).astype("float32")
            table[-1] = last
            return lambda: hlodiff.Case(lambda x: x + table, hlodiff.abstract((count,), "float32"))
        for name, count in (("small", 12), ("medium", 100), ("large", {LARGE})):
            hlodiff.register(name=name)(case(count, 0.5))
            hlodiff.register(name=name + "_changed")(case(count, 0.25))
        """,
        targets=THREE,
    )
    found = outcomes(config)
    for target in THREE:
        for name in ("small", "medium", "large"):
            pair = [found[function, "", target] for function in (name, f"{name}_changed")]
            texts = [outcome.compiled or "" for outcome in pair if isinstance(outcome, CapturedProgram)]
            old, new = (read_text(text) for text in texts)
            assert edited(old, new) == ["changed"], (target, name)
            assert ("sha256:" in to_text(normalize(old))) == (name != "small")
            assert len(texts[0]) < 100_000


def test_the_rest_of_the_text_is_as_jax_prints_it() -> None:
    program = compiled(numbers(LARGE), numbers(20))
    whole, elided = compiled_text(program).split("\n"), str(program.as_text()).split("\n")
    different = [(new, old) for new, old in zip(whole, elided, strict=True) if new != old]
    assert len(different) == 2
    for new, old in different:
        assert new.partition(" constant(")[0] == old.partition(" constant(")[0]
    program = compiled(numbers(3))
    assert compiled_text(program) == program.as_text()


def test_a_constant_is_printed_up_to_a_size_and_hashed_above_it() -> None:
    printed = compiled_text(compiled(numbers(LARGE - 1, 0.123)))
    hashed = compiled_text(compiled(numbers(LARGE, 0.123)))
    assert "0.123})" in printed and "hlodiff_literal" not in printed
    assert f'constant({{...}}), frontend_attributes={{hlodiff_literal="f32[{LARGE}] {4 * LARGE} bytes sha256:' in hashed


def test_each_of_several_large_constants_has_its_own_hash() -> None:
    one, two, three = numbers(LARGE), numbers(LARGE, 1.0), numbers(LARGE, 2.0)
    old = read_text(compiled_text(compiled(one, two)))
    assert edited(old, read_text(compiled_text(compiled(one, two)))) == []
    assert edited(old, read_text(compiled_text(compiled(one, three)))) == ["changed"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "bfloat16", "complex64"])
def test_constants_of_any_type_are_hashed(dtype: str) -> None:
    count = PRINTED_BYTES + 1
    tables = [(np.arange(count) % 2).astype(jax.numpy.dtype(dtype)) for _ in range(2)]
    tables[1][-1] = not tables[1][-1]
    old, new = (read_text(compiled_text(compiled(table, dtype=dtype))) for table in tables)
    assert edited(old, new) == ["changed"]
