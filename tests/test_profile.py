"""`hlodiff inspect profile` and `check --timings`: how XLA's time is added up, and what is said of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlodiff.capture import PassTime
from hlodiff.capture.profile import TimedSpan, merged, metadata_spans, pass_times
from hlodiff.inspect import Profile, profiles_json, profiles_markdown, profiles_text
from hlodiff.report import AnalysisNote, Report, Timing, to_terminal
from tests.test_docs import ROOT, blocks, played
from tests.typed import typed

Ask = Callable[..., tuple[int, str, str]]

METADATA = """canonical_module_id: 1
pass_metadata {
  pass_id: 1
  pass_name: "pipeline-start"
  pipeline_name: "Before \\"X64\\" rewriter"
  dump_filenames: "d/module_0000.hlo.pb"
  start_timestamp_usec: 1000000
  end_timestamp_usec: 1000250
}
pass_metadata {
  pass_id: 2
  pass_name: "simplification"
  pipeline_name: "outer"
  module_changed: true
  start_timestamp_usec: 1001000
  end_timestamp_usec: 1009000
}
pass_metadata {
  pass_id: 3
  pass_name: "dce"
  pipeline_name: "simplification"
  start_timestamp_usec: 1002000
  end_timestamp_usec: 1005000
}
pass_metadata {
  pass_id: 4
  pass_name: "never-ended"
  start_timestamp_usec: 1005000
}
"""


def test_a_pass_is_not_charged_for_what_ran_inside_it() -> None:
    found = {each.name: round(each.seconds, 6) for each in pass_times(metadata_spans(METADATA))}
    assert found == {"simplification": 0.005, "dce": 0.003, "pipeline-start": 0.00025}


def test_runs_are_added_up_and_the_longest_pipeline_is_named() -> None:
    spans = [TimedSpan("dce", "a", 0, 1), TimedSpan("dce", "b", 2, 5), TimedSpan("cse", "a", 1, 2)]
    assert pass_times(spans) == (PassTime("dce", "b", 4, 2), PassTime("cse", "a", 1, 1))


def test_several_modules_of_one_compile_are_one_table() -> None:
    one = (PassTime("dce", "a", 1.0, 2), PassTime("cse", "a", 0.5, 1))
    two = (PassTime("cse", "b", 4.0, 3),)
    assert merged([one, two]) == (PassTime("cse", "b", 4.5, 4), PassTime("dce", "a", 1.0, 2))


@given(st.integers(0, 2**32))
def test_nothing_is_counted_twice(seed: int) -> None:
    """All passes together take as long as the spans that nothing holds."""
    random = Random(seed)
    spans: list[TimedSpan] = []

    def fill(start: int, end: int, depth: int) -> None:
        while start < end:
            stop = random.randint(start + 1, end)
            if random.random() < 0.7:
                spans.append(TimedSpan(random.choice("abc"), "p", start, stop))
                if depth:
                    fill(start, stop, depth - 1)
            start = stop

    fill(0, 60, 2)
    covered = sum(any(span.start <= tick < span.end for span in spans) for tick in range(60))
    random.shuffle(spans)
    assert sum(each.seconds for each in pass_times(spans)) == covered


FIRST = {"trace": 0.024, "lower": 0.007, "compile": 0.5}
LATER = ({"trace": 0.02, "lower": 0.006, "compile": 0.1}, {"trace": 0.022, "lower": 0.006, "compile": 0.3})
PASSES = (PassTime("JitCompiler::Compile", "", 0.06, 1), PassTime("fusion", "HLO passes", 0.02, 3))
WHOLE = Profile("f/small", "cpu", 57, 49, FIRST, LATER, PASSES, "profiler", 0.1)


def test_the_report_in_a_terminal() -> None:
    assert profiles_text([WHOLE, Profile("g", "tpu-v5e-2x2", problem="no \x1b[31mlibtpu", advice="install it")]) == (
        "f/small  cpu  57 StableHLO ops, 49 compiled instructions\n"
        "              first     again  median of 2, least to most\n"
        "  trace     24.0 ms   21.0 ms  20.0 ms to 22.0 ms     █▏\n"
        "  lower     7.00 ms   6.00 ms  6.00 ms to 6.00 ms     ▍\n"
        "  XLA        500 ms    200 ms  100 ms to 300 ms       ████████████████████████\n"
        "  total      531 ms    227 ms  126 ms to 328 ms\n"
        "  inside XLA: 20.0 ms in 1 HLO pass, 80.0 ms in code generation and the rest of one more compile; "
        "as XLA reports to its profiler\n"
        "    JitCompiler::Compile  60.0 ms  60 %  ████████████████  1 run, code generation and the rest\n"
        "    fusion                20.0 ms  20 %  █████▍            3 runs, HLO pass, HLO passes\n"
        "    outside of these      20.0 ms  20 %  █████▍            nothing has a name there\n"
        "\n"
        "g  tpu-v5e-2x2  not timed: no \\x1b[31mlibtpu\n"
        "  install it\n"
        "paid by the first call with new shapes, types or static values; later calls only run the program\n"
    )


def test_short_lists_say_what_they_leave_out() -> None:
    many = tuple(PassTime(f"pass{i}", "p", 0.001, 1) for i in range(20))
    text = profiles_text([Profile("f", "cpu", 1, 1, FIRST, (), many, "dump", 0.02)])
    assert re.search(r"^    8 more +8\.00 ms +40 %", text, re.MULTILINE)
    assert "pass19" in profiles_text([Profile("f", "cpu", 1, 1, FIRST, (), many, "dump", 0.02)], everything=True)


def test_a_compiler_that_does_not_tell() -> None:
    silent = Profile("f", "cpu", 1, 1, FIRST, (), (), "", 0.02)
    assert "this compiler does not report how long its passes take" in profiles_text([silent])
    assert "this compiler does not report" in profiles_markdown([silent])


def test_what_makes_a_program_large_is_named_with_its_line() -> None:
    told = AnalysisNote("copies", "m.py:3 (f): 40 copies of 12 operations", "scan compiles \x1b the body once")
    profile = Profile("f", "cpu", 1, 1, FIRST, (), reasons=(told,) * 11)
    lines = profiles_text([profile]).splitlines()
    start = lines.index("  larger than it must be")
    assert lines[start + 1 : start + 3] == [f"    copies: {told.what}", "      scan compiles \\x1b the body once"]
    assert lines[start + 21] == "    copies: ... and 1 more, --format json lists them"
    assert "- copies\\: m.py\\:3 \\(f\\)\\: 40 copies of 12 operations; scan compiles" in profiles_markdown([profile])
    (program,) = json.loads(profiles_json([profile]))["programs"]
    assert [row["kind"] for row in program["reasons"]] == ["copies"] * 11


def test_colour_changes_no_word() -> None:
    colored = profiles_text([WHOLE], color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == profiles_text([WHOLE])


def test_the_other_forms() -> None:
    assert "| XLA | 500 ms | 200 ms |" in profiles_markdown([WHOLE])
    once = profiles_markdown([Profile("f", "cpu", 1, 1, FIRST, ())])
    assert "| | first |\n|---|--:|\n" in once and "again" not in once
    assert "| `fusion` | 20.0 ms | 20 % |" in profiles_markdown([WHOLE])
    value = json.loads(profiles_json([WHOLE, Profile("g", "cpu", problem="x")]))
    assert value["programs"][0]["first"] == FIRST
    assert value["programs"][0]["passes"]["listed"][1] == {
        "name": "fusion", "pipeline": "HLO passes", "seconds": 0.02, "runs": 3,
    }  # fmt: skip
    assert value["programs"][1] == {"name": "g", "target": "cpu", "status": "not_timed", "reason": "x", "advice": ""}


def test_bars_grow_with_what_they_stand_for() -> None:
    timings = tuple(Timing(f"f{share}", "cpu", 0.0, share / 100, None, 57, 49) for share in range(101))
    text = to_terminal(Report("check", "snapshots", "here", (), timings=timings))
    blocks = {
        line.split()[0]: len(line.split()[-1].strip("0123456789")) for line in text.splitlines() if " cpu " in line
    }
    lengths = [blocks[f"f{share}"] for share in range(101)]
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (0, 24)


def test_timings_stand_before_the_totals() -> None:
    report = Report("check", "snapshots", "here", (), timings=(Timing("f", "cpu", 0.01, 0.02, None, 57, 49),))
    lines = to_terminal(report).splitlines()
    assert lines[-3].startswith("time to make")
    assert lines[-2].split()[:9] == ["f", "cpu", "10.0", "ms", "20.0", "ms", "not", "asked", "57"]


PROGRAMS = """import jax, jax.numpy as jnp, hlodiff

@hlodiff.register(targets=["cpu"])
def step():
    def loss(w, x):
        for _ in range(4):
            x = jnp.tanh(x @ w)
        return jnp.sum(x ** 2)
    return hlodiff.Case(jax.grad(loss), hlodiff.abstract((8, 8), "float32"), hlodiff.abstract((4, 8), "float32"))

@hlodiff.register(targets=["tpu-v5e-2x2"])
def on_tpu():
    return hlodiff.Case(lambda x: jnp.sum(jnp.tanh(x) @ x.T), hlodiff.abstract((4, 8), "float32"))

@hlodiff.register(targets=["cpu"])
def broken():
    return hlodiff.Case(lambda x: x @ x, hlodiff.abstract((3,2), "float32"))
"""


@pytest.mark.slow
def test_the_real_command(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    (tmp_path / "programs.py").write_text(PROGRAMS)
    done = typed(tmp_path, "inspect", "profile", "step", "--repeat", "2", "--format", "json")
    assert done.returncode == 0, done.stderr
    (program,) = json.loads(done.stdout)["programs"]
    assert all(program["first"][phase] > 0 for phase in ("trace", "lower", "compile"))
    assert len(program["later"]) == 2
    assert program["reasons"][0]["what"].startswith("programs.py:7 (step.loss): 4 copies of ")
    passes = program["passes"]
    assert passes["source"] == "profiler"
    named = {each["name"]: each for each in passes["listed"]}
    # Passes that XLA for cpu has had for years; the sum of all cannot be more than the compile they are a part of.
    assert {"fusion", "layout-assignment", "dce"} <= named.keys()
    assert named["layout-assignment"]["pipeline"]
    assert sum(each["seconds"] for each in passes["listed"]) <= passes["compile"]
    # libtpu tells the profiler nothing: its passes come from the metadata of a dump.
    done = typed(tmp_path, "inspect", "profile", "on_tpu", "--repeat", "0", "--format", "json")
    (program,) = json.loads(done.stdout)["programs"]
    passes = program["passes"]
    assert (passes["source"], program["later"]) == ("dump", [])
    assert {"layout-assignment", "dce"} <= {each["name"] for each in passes["listed"]}
    assert passes["outside"] == pytest.approx(
        passes["compile"] - sum(each["seconds"] for each in passes["listed"]), abs=1e-3
    )
    failed = typed(tmp_path, "inspect", "profile", "broken")
    assert failed.returncode == 2
    assert "not timed: programs.py:17: TypeError" in failed.stdout
    # Nothing was recorded, and nothing is left behind.
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == [
        "programs.py",
        "pyproject.toml",
    ]


@pytest.mark.slow
def test_timings_of_a_check_ask_xla_and_change_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    (tmp_path / "programs.py").write_text(PROGRAMS.partition('@hlodiff.register(targets=["tpu')[0])
    typed(tmp_path, "update")
    before = {path: path.read_bytes() for path in tmp_path.rglob("snapshots/**/*") if path.is_file()}
    done = typed(tmp_path, "check", "--timings", "--format", "json")
    (timing,) = json.loads(done.stdout)["timings"]
    assert done.returncode == 0
    assert timing["seconds"]["compile"] > 0, "unchanged, and compiled all the same"
    assert timing["instructions"]["stablehlo"] > 5
    assert {path: path.read_bytes() for path in tmp_path.rglob("snapshots/**/*") if path.is_file()} == before
    assert not any(b"trace" in content for content in before.values())


@pytest.mark.slow
def test_the_gate_of_the_page_can_be_followed(tmp_path: Path) -> None:
    page = ROOT / "docs" / "compile-time.md"
    for kind in ("python", "toml"):
        for name, text in blocks(page, kind):
            (tmp_path / name).write_text(text)
    assert played(page, tmp_path) > 0
