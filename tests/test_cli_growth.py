"""Growth through the real command in a project of its own: caused, named, repaired, gated."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hlodiff.capture.cases import check_growth, limits_of
from hlodiff.differ import QUANTITIES, FrameTree, Growth, ProgramAnalysis, Table, growth_series
from hlodiff.errors import RegistryError
from hlodiff.policy import growth_record, judge_growth
from hlodiff.registry import Case, Registration
from hlodiff.report import growing_tables
from tests.test_docs import blocks, played
from tests.typed import typed

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = """\
import jax
import jax.numpy as jnp
import numpy as np

import hlodiff

TABLE = np.arange(1024, dtype=np.float32).reshape(16, 64)


def turn(state, x, weights):
    return jnp.tanh(state @ weights + x)


def walk(weights, sequence):
    state = jnp.zeros(sequence.shape[1:])
    state, _ = jax.lax.scan(lambda state, x: (turn(state, x, weights), None), state, sequence)
    return state @ TABLE


@hlodiff.register
def walking(length=32):
    weights, sequence = hlodiff.abstract((16, 16), "float32"), hlodiff.abstract((length, 16), "float32")
    return hlodiff.Case(walk, weights, sequence, grow={"length": [4, 8, 16, 32]})
"""
SCAN = "state, _ = jax.lax.scan(lambda state, x: (turn(state, x, weights), None), state, sequence)"
LOOP = "for x in sequence:\n        state = turn(state, x, weights)"


def hlodiff(folder: Path, *arguments: str, seed: str = "0") -> tuple[int, str, str]:
    done = typed(folder, *arguments, COLUMNS="160", PYTHONHASHSEED=seed)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\ntargets = ["cpu"]\n')
    (tmp_path / "programs.py").write_text(PROGRAMS)
    return tmp_path


@pytest.mark.slow
def test_a_loop_that_becomes_unrolled_is_named_and_gated(folder: Path) -> None:
    """And beside it a table that is as long as the sequence."""
    assert hlodiff(folder, "update")[0] == 0
    recorded = (folder / "snapshots/walking/growth.yaml").read_text()
    assert "    instructions:\n      class: constant\n      values: [16, 16, 16, 16]\n" in recorded

    table = "return state @ np.arange(16 * len(sequence)).reshape(16, -1)"
    text = PROGRAMS.replace(SCAN, LOOP).replace("return state @ TABLE", table)
    (folder / "programs.py").write_text(text)
    code, out, _ = hlodiff(folder, "check")
    assert code == 1
    assert "1 large constant instead of 1 (4.0 KiB -> 2.0 KiB)" in out
    assert "the loop of programs.py:16 (walk) became 32 copies of its body" in " ".join(out.split())
    assert "walking  growth: with `length`: instructions linear, recorded as constant; bytes of constants linear" in out
    assert "  instructions: 26, 46, 86, 166 (recorded: 16, 16, 16, 16)\n" in out
    assert "programs.py:16-17 (walk): 4, 8, 16, 32 copies of 5 operations, each fed by the one before" in out
    assert "a Python loop, which JAX unrolls; jax.lax.scan" in out
    assert "  large constant at length=32: s32[16,32], 2.0 KiB, read at programs.py:18 (walk)\n" in out
    assert "\n  hint: hlodiff accept " in out
    assert out.count("next: hlodiff accept walking\n") == 1


@pytest.mark.slow
def test_recorded_growth_of_a_case_without_sizes_is_deleted_when_asked(folder: Path) -> None:
    (folder / "programs.py").write_text(PROGRAMS.replace(', grow={"length": [4, 8, 16, 32]}', ""))
    (folder / "snapshots/walking").mkdir(parents=True)
    (folder / "snapshots/walking/growth.yaml").write_text("format_version: 1\n")
    code, out, _ = hlodiff(folder, "check")
    assert code == 1
    assert "walking  growth: has growth.yaml, and its case names no sizes any more" in out
    assert "walking  growth  deleted" in hlodiff(folder, "update", "--prune")[1]
    assert not (folder / "snapshots/walking/growth.yaml").exists()


@pytest.mark.slow
def test_sizes_of_the_command_line_and_the_same_bytes_in_another_process(folder: Path) -> None:
    arguments = ("inspect", "growth", "walking", "--at", "length=2,4,6", "--compile", "--format", "json")
    code, out, _ = hlodiff(folder, *arguments, seed="1")
    (growth,) = json.loads(out)["growths"]
    assert (code, growth["sizes"], growth["stablehlo"]["instructions"]["class"]) == (0, [2, 4, 6], "constant")
    assert len(growth["compiled"]["instructions"]["values"]) == 3
    assert growth["largest"]["large_constants"][0]["variable"] == "TABLE"
    assert growth["largest"]["loops"][0]["turns"] == 6
    assert str(folder) not in out
    assert hlodiff(folder, *arguments, seed="2")[1] == out


@pytest.mark.slow
def test_what_raises_at_one_size_is_told_with_the_size(folder: Path) -> None:
    short = PROGRAMS.replace("    return state @", "    assert len(sequence) < 16\n    return state @")
    (folder / "programs.py").write_text(short)
    code, _, err = hlodiff(folder, "inspect", "growth", "walking")
    assert code == 2
    assert "walking on cpu: at length=16: programs.py:17: AssertionError" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grow": {"width": [8, 16, 32]}}, "names `width`, which is not a parameter of the registered function"),
        ({"grow": {"length": [8, 16]}}, "it takes 3 different sizes to tell a line from a curve"),
        ({"grow": {"length": [32, 16, 8]}}, "list sizes in ascending order, each once"),
        ({"grow": {"length": [8, 16, "32"]}}, "sizes are whole numbers above 0"),
        ({"grow": {"length": 8}}, "sizes are whole numbers above 0"),
        ({"grow": 8}, "`grow` of `one` is 8"),
        ({"max_growth": "linear"}, "has `max_growth` but no `grow`"),
        ({"grow": {"length": [8, 16, 32]}, "max_growth": "cubic"}, "`max_growth` of `one` is 'cubic'"),
        ({"grow": {"length": [8, 16, 32]}, "max_growth": {"ops": "linear"}}, "`max_growth` of `one` is {'ops'"),
    ],
)
def test_what_cannot_show_growth_is_refused(options: dict[str, Any], message: str) -> None:
    def one(length: int = 8) -> object:
        return None

    registration = Registration("one", one, None, "m", "m.py", 3, False)
    with pytest.raises(RegistryError) as caught:
        check_growth(registration, Case(one, **options), "m.py:3")
    assert message in caught.value.what
    assert (caught.value.where, bool(caught.value.hint)) == ("m.py:3", True)


def test_good_sizes_and_limits_pass() -> None:
    def one(length: int = 8) -> object:
        return None

    case = Case(one, grow={"length": [8, 16, 32]}, max_growth={"text_bytes": "linear", "instructions": "constant"})
    check_growth(Registration("one", one, None, "m", "m.py", 3, False), case, "m.py:3")
    assert limits_of(case) == {"instructions": "constant", "text_bytes": "linear"}
    assert set(limits_of(Case(one, max_growth="linear")).values()) == {"linear"}


def growth(*instructions: int) -> Growth:
    at = [dict.fromkeys(QUANTITIES, 100) | {"instructions": count} for count in instructions]
    return Growth("f", "cpu", "n", (8, 16, 32), growth_series((8, 16, 32), at))


def findings(now: Growth, before: Growth | None, **limits: str) -> list[tuple[str, str, str]]:
    record = growth_record("f", "", [before]) if before else None
    found = judge_growth("f", [now], record, limits, {"n": ["model.py:12: 8, 16, 32 copies"]})
    return [(f.severity, f.what, f.advice) for f in found]


FLAT, LINE = growth(50, 50, 50), growth(50, 90, 170)


def test_worse_than_recorded_fails_and_better_is_told() -> None:
    assert findings(FLAT, FLAT) == findings(LINE, LINE) == []
    assert findings(growth(60, 60, 60), FLAT) == [], "other counts of the same class are the snapshots' business"
    worse = "with `n`: instructions linear, recorded as constant"
    assert findings(LINE, FLAT) == [("error", worse, "hlodiff update f")]
    better = "better than recorded with `n`: instructions constant, recorded as linear"
    assert findings(FLAT, LINE) == [("info", better, "hlodiff update f")]
    assert findings(FLAT, None) == [("error", "how it grows with `n` is not recorded", "hlodiff update f")]


def test_a_limit_holds_whatever_is_recorded() -> None:
    said = "with `n`: instructions linear, at most constant allowed"
    assert findings(LINE, LINE, instructions="constant") == [("error", said, "")]
    assert findings(LINE, LINE, instructions="linear", constants="constant") == []


def test_a_table_that_grows_is_named_with_its_line() -> None:
    where = FrameTree("model.py", 12, 12, "attend")
    largest = ProgramAnalysis(tables=(Table("f32[32,32]", 4096, where, "abc"),))
    at = [dict.fromkeys(QUANTITIES, 100) | {"constant_bytes": 4 * n * n} for n in (8, 16, 32)]
    now = Growth(
        "f", "cpu", "n", (8, 16, 32), growth_series((8, 16, 32), at), largest=largest, tables={"abc": ("mask", "")}
    )
    assert list(growing_tables(now)) == [
        "large constant at n=32: `mask` f32[32,32], 4.0 KiB, read at model.py:12 (attend)",
        "  its numbers are part of the program; an argument is not",
    ]
    assert list(growing_tables(replace(LINE, largest=largest))) == [], "its bytes do not grow"


def test_details_hold_the_numbers_and_the_cause() -> None:
    record = growth_record("f", "", [FLAT])
    (finding,) = judge_growth("f", [LINE], record, {}, {"n": ["model.py:12: 8, 16, 32 copies"]})
    assert finding.details == (
        "at n 8, 16, 32",
        "instructions: 50, 90, 170 (recorded: 50, 50, 50)",
        "model.py:12: 8, 16, 32 copies",
    )


@pytest.mark.parametrize("record", [{}, {"parameters": 3}, {"parameters": {"n": {"instructions": {"class": "flat"}}}}])
def test_a_record_that_makes_no_sense_is_as_if_nothing_were_recorded(record: dict[str, Any]) -> None:
    (finding,) = judge_growth("f", [FLAT], record, {}, {})
    assert finding.what == "how it grows with `n` is not recorded"


@pytest.mark.slow
def test_the_page_on_growth_can_be_followed(tmp_path: Path) -> None:
    page = ROOT / "docs" / "growth.md"
    for kind in ("python", "toml"):
        for name, text in blocks(page, kind):
            (tmp_path / name).write_text(text)
    assert played(page, tmp_path) > 0
