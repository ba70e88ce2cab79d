"""`hlodiff log` and `hlodiff log`: what they print, in every form, window and place."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hlodiff.cli import run
from tests.past import Past

LOG = """\
step on cpu, compiled: 9 commits, 2026-01-01 to 2026-01-09
  instructions  ▁▅█▁▅██▅  3 -> 4 (+33 %)
  fusions       ▁▁█▁▁▁▁▁  2, between 2 and 3
  copies        ▁▅█▁▁▁▁▁  0, between 0 and 2
  temp_bytes    ▁▁▁▁▁██▁  4.0 KiB -> 8.0 KiB (+100 %)
  flops         ▁▅█▁▅██▅  2,000 -> 3,000 (+50 %)

  commit   date        instructions  fusions  copies         temp_bytes         flops  subject
  c000008  2026-01-09          4 -1     2       0     8.0 KiB -99 %      3,000 -1,000  Recompute activations
  c000007  2026-01-08          5        2       0     1.5 MiB            4,000         Rename train_step to step
           renamed from train_step
  c000006  2026-01-07          5 +1     2       0     1.5 MiB 171 times  4,000 +1,000  Keep all 活性化 | <b>*x*</b>
           merge: neither parent's version
  c000004  2026-01-05          4 +1     2       0     8.0 KiB            3,000 +1,000  =On a side branch
           on a side branch: the merge has another version
  c000005  2026-01-06          4 +1     2       0     9.0 KiB +12 %      3,000 +1,000  On main
  c000003  2026-01-04          3 -2     2 -1    0 -2  8.0 KiB            2,000 -2,000  \\x1b[31mNo copies\\x1b[0m
  c000002  2026-01-03          5 +1     3 +1    2 +1  8.0 KiB            4,000 +1,000  jax 0.10.3
           toolchain: jax 0.10.2 -> 0.10.3 (StableHLO is the same, so the compiler did this)
  c000001  2026-01-02          4 +1     2       1 +1  8.0 KiB +100 %     3,000 +1,000  Sum the loss in two parts
  c000000  2026-01-01          3        2       0     4.0 KiB            2,000         Record
           history begins here
"""


def make(top: Path, below: str = "") -> Past:
    past = Past(top, below)
    past.record("train_step", "sine", "negate")
    past.record("evaluate", "sine")
    past.commit("Record")
    past.record("train_step", "sine", "copy", "negate", temp=8192)
    past.commit("Sum the loss in two parts")
    past.record("train_step", "sine", "copy", "copy", "negate", temp=8192, jax="0.10.3", fusions=3)
    past.commit("jax 0.10.3")
    past.record("train_step", "sine", "negate", temp=8192, jax="0.10.3")
    past.commit("\x1b[31mNo copies\x1b[0m")
    past.git("checkout", "-q", "-b", "side")
    past.record("train_step", "sine", "negate", "negate", temp=8192, jax="0.10.3")
    past.commit("=On a side branch")
    past.git("checkout", "-q", "main")
    past.record("train_step", "cosine", "negate", "negate", temp=9216, jax="0.10.3")
    past.commit("On main")
    past.git("merge", "-q", "side", check=False)
    past.record("train_step", "cosine", "negate", "negate", "tanh", temp=1572864, jax="0.10.3")
    past.commit("Keep all 活性化 | <b>*x*</b>")
    shutil.rmtree(past.project / "snapshots/train_step")
    past.record("step", "cosine", "negate", "negate", "tanh", temp=1572864, jax="0.10.3")
    past.commit("Rename train_step to step")
    past.record("step", "cosine", "negate", "exponential", temp=8192, jax="0.10.3")
    past.scenario("loop", 3)
    past.commit("Recompute activations")
    past.scenario("loop", 1)
    past.commit("Trace the loop once")
    return past


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    return make(tmp_path_factory.mktemp("past") / "a repository", "project ü")


@pytest.fixture(autouse=True)
def here(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(past.project)
    monkeypatch.setenv("COLUMNS", "140")


def printed(past: Past, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(arguments) == code
    return past.named(capsys.readouterr().out)


def test_the_log(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(past, capsys, "log", "step") == LOG


def test_the_log_from_elsewhere(
    past: Past, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a worktree on a detached head, and from outside of the repository."""
    past.git("worktree", "add", "-q", "--detach", str(tmp_path / "work tree"), "main")
    monkeypatch.chdir(tmp_path / "work tree" / "project ü" / "snapshots")
    assert printed(past, capsys, "log", "step") == LOG
    monkeypatch.chdir(tmp_path)
    assert printed(past, capsys, "log", "step", "--project", str(past.project)) == LOG
    past.git("worktree", "remove", "--force", str(tmp_path / "work tree"))


def test_a_narrow_window(past: Past, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = printed(past, capsys, "log", "step", "-n", "3")
    assert text.partition("\n\n")[2] == (
        "  c000008  2026-01-09  Recompute activations\n"
        "           instructions 5 -> 4 (-20 %)\n"
        "           temp_bytes 1.5 MiB -> 8.0 KiB (-99 %)\n"
        "           flops 4,000 -> 3,000 (-25 %)\n"
        "  c000007  2026-01-08  Rename train_step to step\n"
        "           renamed from train_step\n"
        "  c000006  2026-01-07  Keep all 活性化 | <b>*x*</b>\n"
        "           instructions 4 -> 5 (+25 %)\n"
        "           temp_bytes 9.0 KiB -> 1.5 MiB (171 times)\n"
        "           flops 3,000 -> 4,000 (+33 %)\n"
        "           merge: neither parent's version\n"
        "  ... and 6 older, -n 0 lists all\n"
    )
    assert max(map(len, printed(past, capsys, "log", "step").splitlines())) <= 60


def test_terminals_without_blocks(past: Past) -> None:
    """ASCII alone where the terminal says so; what it cannot show of a subject is an escape."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "hlodiff", "log", "step", "-m", "copies", "-n", "3"]
    done = subprocess.run(command, cwd=past.project, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "  copies  _=#_____  0, between 0 and 2\n" in done.stdout
    assert "Keep all \\u6d3b\\u6027\\u5316 | <b>*x*</b>\n" in done.stdout


def test_neither_jax_nor_jaxlib_is_imported(past: Past) -> None:
    code = (
        "import sys; from hlodiff.cli.entry import run; code = run(['log', 'step', '-m', 'entry.copies']); "
        "assert not {'jax', 'jaxlib', 'equinox', 'networkx'} & set(sys.modules), 'heavy'; sys.exit(code)"
    )
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=past.project, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scenarios_patterns_and_ranges(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(past, capsys, "log", "loop") == (
        "loop, traces of a scenario: 2 commits, 2026-01-09 to 2026-01-10\n"
        "  traces    █▁  3 -> 1 (-67 %)\n"
        "  compiles  █▁  3 -> 1 (-67 %)\n"
        "  programs  ▁▁  1, unchanged\n"
        "\n"
        "  commit   date        traces  compiles  programs  subject\n"
        "  c000009  2026-01-10    1 -2      1 -2         1  Trace the loop once\n"
        "  c000008  2026-01-09    3         3            1  Recompute activations\n"
        "           history begins here\n"
    )
    heads = [
        line for line in printed(past, capsys, "log", "*", "HEAD~3..").splitlines() if "commit" in line and ":" in line
    ]
    assert [head.partition(":")[0] for head in heads] == [
        "loop, traces of a scenario", "step on cpu, compiled", "train_step on cpu, compiled",
    ]  # fmt: skip
    assert printed(past, capsys, "log", "evaluate", "HEAD~3..") == ""


def test_without_a_name_there_is_a_line_for_each(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(past, capsys, "log") == (
        "evaluate on cpu  instructions  ▁         2, unchanged    recorded 2026-01-01 c000000\n"
        "loop             traces        █▁        3 -> 1 (-67 %)  changed 2026-01-10 c000009\n"
        "step on cpu      instructions  ▁▅█▁▅██▅  3 -> 4 (+33 %)  changed 2026-01-09 c000008\n"
    )
    assert json.loads(printed(past, capsys, "log", "--format", "json"))["histories"][0]["name"] == "evaluate"


def test_first_parents_only(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(past, capsys, "log", "step", "--first-parent", "-m", "temp_bytes")
    assert "side branch" not in text
    assert "9.0 KiB +12 %" in text


def test_json(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    value = json.loads(printed(past, capsys, "log", "step", "--format", "json", "-m", "copies"))
    (one,) = value["histories"]
    assert (value["format_version"], value["revision"], one["ends"], one["metrics"]) == (
        "1.0",
        "HEAD",
        "begins",
        ["copies"],
    )
    assert len(one["commits"]) == 9
    upgrade = next(row for row in one["commits"] if row["subject"] == "jax 0.10.3")
    assert upgrade == {
        "commit": "c000002" + "0" * 33,
        "date": "2026-01-03T12:00:00+00:00",
        "author": "Ann Example",
        "subject": "jax 0.10.3",
        "merge": False,
        "status": "changed",
        "aside": False,
        "folder": "project ü/snapshots/train_step/cpu",
        "renamed_from": None,
        "counted_differently": False,
        "old": {"copies": 1},
        "new": {"copies": 2},
        "jax": "0.10.3",
        "toolchain_changes": [
            {"what": "jax", "old": "0.10.2", "new": "0.10.3"},
            {"what": "jaxlib", "old": "0.10.2", "new": "0.10.3"},
        ],
        "changed_programs": ["compiled"],
        "notes": ["toolchain: jax 0.10.2 -> 0.10.3 (StableHLO is the same, so the compiler did this)"],
    }


def test_csv_holds_no_formula(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(past, capsys, "log", "step", "--format", "csv"))))
    assert [row["temp_bytes"] for row in rows][:3] == ["4096", "8192", "8192"]
    subjects = [row["subject"] for row in rows]
    assert "'=On a side branch" in subjects
    assert "\\x1b[31mNo copies\\x1b[0m" in subjects
    assert {row["function"] for row in rows} == {"train_step", "step"}


def test_markdown_holds_no_markup(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(past, capsys, "log", "step", "--format", "markdown", "-m", "copies", "-m", "temp_bytes")
    assert "- `copies` ▁▅█▁▁▁▁▁ 0, between 0 and 2\n" in text
    subject = r"Keep all 活性化 \| &lt;b&gt;\*x\*&lt;/b&gt;; merge\: neither parent's version"
    assert rf"| `c000006` | 2026-01-07 | 0 | 1.5 MiB \(171 times\) | {subject} |" in text.splitlines()


BISECT = """\
step on cpu, compiled: 9 commits, 2026-01-01 to 2026-01-09
  temp_bytes  ▁▁▁▁▁██▁  4.0 KiB -> 8.0 KiB (+100 %)

went above 100.0 KiB: 9.0 KiB -> 1.5 MiB (171 times)
  c000006  2026-01-07  Ann Example  Keep all 活性化 | <b>*x*</b>
  toolchain   the same, jax 0.10.3
  note        merge: neither parent's version
  StableHLO   structure: 1 added of 5 instructions, programs.py:13 (step)
    added tanh %3 f32[4]  +4 flops  programs.py:13 (step)
  compiled    structure: 1 added of 4 instructions, programs.py:13 (step)
    added tanh %tanh.3 f32[4]  +4 flops, +32 B  programs.py:13 (step)
  next        hlodiff diff c000006~1 c000006 --name train_step --target cpu

other commits that changed temp_bytes
  c000008  2026-01-09  1.5 MiB -> 8.0 KiB (-99 %)  Recompute activations
  c000001  2026-01-02  4.0 KiB -> 8.0 KiB (+100 %)  Sum the loss in two parts
  c000005  2026-01-06  8.0 KiB -> 9.0 KiB (+12 %)  On main
"""


def test_bisect_finds_the_commit_that_crossed_a_limit(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(past, capsys, "log", "step", "temp_bytes", "--above", "100 KiB") == BISECT


def test_a_merge_is_told_with_what_its_branch_did(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(past, capsys, "log", "step", "instructions", "--above", "4")
    assert "went above 4: 4 -> 5 (+25 %)\n  c000006  " in text
    assert "\n  merged      c000004  2026-01-05  3 -> 4 (+33 %)  =On a side branch\n" in text


def test_a_command_stays_on_one_line(
    past: Past, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = printed(past, capsys, "log", "step", "temp_bytes")
    assert "  next        hlodiff diff c000008~1 c000008 --name step --target cpu\n" in text


def test_bisect_in_a_shallow_clone(
    past: Past, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    past.git("clone", "-q", "--depth", "2", past.top.as_uri(), str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow" / "project ü")
    text = printed(past, capsys, "log", "step", "temp_bytes", code=1)
    said = "older commits are not here: this clone is shallow; `git fetch --unshallow` brings the rest"
    assert text.splitlines()[-1] == f"  {said}"


def test_the_next_command_works(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    for metric, limit in (("temp_bytes", ["--above", "1MB"]), ("copies", ["--below", "1"]), ("copies", [])):
        value = bisected(past, capsys, metric, *limit)
        command = value["found"][0]["next"]
        for number, commit in enumerate(past.commits):
            command = command.replace(f"c{number:06d}", commit[:7])
        assert run([*command.split()[1:], "--exit-code"]) == 1
        assert "step" in capsys.readouterr().out


def bisected(past: Past, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    value = json.loads(printed(past, capsys, "log", "step", *arguments, "--format", "json", code=code))
    (one,) = value["programs"]
    assert isinstance(one, dict)
    return one


@pytest.mark.parametrize(
    ("arguments", "subjects"),
    [
        (["temp_bytes"], ["Recompute activations"]),
        (["temp_bytes", "--below", "8193"], ["Recompute activations"]),
        (["temp_bytes", "--change", "200%"], ["Keep all 活性化 | <b>*x*</b>"]),
        (["instructions", "--change", "30%"], ["\x1b[31mNo copies\x1b[0m", "On main", "Sum the loss in two parts"]),
        (["temp_bytes", "--change", "50", "--from", "HEAD~3"], ["Recompute activations"]),
        (["temp_bytes", "--change", "50", "--to", "HEAD~2", "--from", "HEAD~7"], ["Keep all 活性化 | <b>*x*</b>"]),
        (["fusions", "--above", "2"], ["jax 0.10.3"]),
        (["op.copy", "--below", "1"], ["\x1b[31mNo copies\x1b[0m"]),
        (["entry.copies", "--above", "1"], ["jax 0.10.3"]),
    ],
)  # fmt: skip
def test_what_bisect_finds(
    past: Past, capsys: pytest.CaptureFixture[str], arguments: list[str], subjects: list[str]
) -> None:
    one = bisected(past, capsys, *arguments)
    assert [found["subject"] for found in one["found"]] == subjects


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fusions", "--above", "9"], "was never above 9: at most 3 (c000002)"),
        (["temp_bytes", "--below", "1 MiB"], "Recompute"),
        (["temp_bytes", "--above", "1 KiB"], "was above 1.0 KiB from the start (c000000)"),
        (["peak_bytes"], "no commit says what peak_bytes is: the compiler for this target does not report it"),
        (["loops"], "never changed: 0"),
        (["fusions", "--change", "80"], "never changed by 80 % or more: at most by 50 %"),
    ],
)  # fmt: skip
def test_where_there_is_nothing_to_find(
    past: Past, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code = 0 if words == "Recompute" else 1
    assert words in printed(past, capsys, "log", "step", *arguments, code=code)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["step", "temp"], "did you mean `"),
        (["step", "temp_bytes", "--above", "many"], "expected bytes, as in 1024 or \"64 MiB\", found str 'many'"),
        (["step", "temp_bytes", "--above", "1", "--below", "2"], "exclude each other"),
        (["step", "temp_bytes", "--change", "much"], "as in `--change 10%`"),
        (["step", "temp_bytes", "--from", "no-such"], "no git revision or range is called 'no-such..HEAD'"),
        (["stp", "temp_bytes"], "did you mean `step`"),
        (["step", "temp_bytes", "--stage", "stablehlo"], "temp_bytes is a number of compiled programs"),
    ],
)
def test_questions_that_make_no_sense(
    past: Past, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["log", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_bisect_of_a_scenario(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(past, capsys, "log", "loop", "traces")
    assert "the largest change: 3 -> 1 (-67 %)\n  c000009" in text
    assert text.splitlines()[-1] == "  next        hlodiff diff c000009~1 c000009 --name loop"


def test_bisect_as_markdown(past: Past, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(past, capsys, "log", "step", "temp_bytes", "--above", "100 KiB", "--format", "markdown")
    assert r"- `c000006` 2026-01-07, Ann Example\: Keep all 活性化 \| &lt;b&gt;\*x\*&lt;/b&gt;" in text
    assert "- next: `hlodiff diff c000006~1 c000006 --name train_step --target cpu`" in text


def test_a_snapshot_that_was_forgotten_is_said_with_the_commit_that_changed_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    past = Past(tmp_path / "project")
    monkeypatch.chdir(past.project)
    source = past.project / "programs.py"
    for ops, written, subject in (
        (("sine",), "one", "First"),
        (("sine", "cosine"), "two", "Both at once"),
        (None, "three", "Only the source"),
        (("sine", "cosine", "tanh"), None, "Only the snapshot"),
    ):
        if written is not None:
            source.write_text(written)
        if ops is not None:
            past.record("step", *ops, temp=4096 * len(ops) ** 3)
        past.commit(subject)
    note = "this commit did not touch programs.py:12; it was last changed by c000002 (Only the source), "
    text = " ".join(printed(past, capsys, "log", "step", "temp_bytes").split())
    assert "Only the snapshot" in text and note + "whose snapshot was not updated" in text
    assert "did not touch" in printed(past, capsys, "log", "step", "temp_bytes", "--format", "markdown")
    past.git("reset", "-q", "--hard", past.commits[1])
    text = printed(past, capsys, "log", "step", "temp_bytes")
    assert "Both at once" in text and "did not touch" not in text


def test_outside_of_git(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.hlodiff]\n")
    monkeypatch.chdir(tmp_path)
    assert run(["log", "step"]) == 2
    assert "not a git repository" in capsys.readouterr().err


def test_what_is_not_committed_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    past = Past(tmp_path / "repository", "below")
    past.record("step", "sine")
    past.commit("one")
    monkeypatch.chdir(past.project)
    past.record("other", "sine")
    assert run(["log", "step"]) == 0
    assert capsys.readouterr().err == ""
    past.record("step", "tanh")
    assert run(["log", "step"]) == 0
    assert capsys.readouterr().err == "not shown: snapshots of step in the work tree that are not committed\n"
