"""`--report FORM=FILE`, `--link` and `hlodiff diff RESULT.json`: several forms of one run and of a saved result."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

LAYERS = Path(__file__).parent / "fixtures/report/layers"
TWO = ("old", "new")
NEXT = "hlodiff diff old new --format html -o diff.html"
LINK = "https://ci.example/run/7"
Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for side in TWO:
        shutil.copytree(LAYERS / side, side)


def saved(said: Ask) -> str:
    assert said("diff", *TWO, "--format", "json", "-o", "result.json")[0] == 0
    return Path("result.json").read_text()


def test_several_forms_from_one_run(said: Ask) -> None:
    reports = ("--report", "junit=out.xml", "--report", "sarif=out.sarif", "--report", "comment=comment.md")
    code, out, err = said("diff", *TWO, *reports, "--link", LINK)
    assert (code, err) == (0, "")
    assert out.endswith("\n2 changed\n") and out.count(f"next: {NEXT}\n") == 1
    assert ET.parse("out.xml").getroot().get("failures") == "2"
    assert json.loads(Path("out.sarif").read_text())["version"] == "2.1.0"
    comment = Path("comment.md").read_text()
    assert comment.endswith(f"2 changed ([details]({LINK}))\n") and comment.count(f"next: `{NEXT}`\n") == 1


def test_a_further_form_may_go_to_stdout_and_the_text_to_a_file(said: Ask) -> None:
    _, out, _ = said("diff", *TWO, "-o", "report.txt", "--report", "github=-")
    assert out == f"2 changed; next: {NEXT}\n"
    assert Path("report.txt").read_text().endswith("\n2 changed\n")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("junit", "`junit` is not FORM=FILE with FORM one of text, json, markdown, html, junit"),
        ("pdf=x.pdf", "`pdf=x.pdf` is not FORM=FILE"),
        ("junit=", "`junit=` is not FORM=FILE"),
        ("junit=nowhere/out.xml", "the folder of nowhere/out.xml does not exist"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_runs(value: str, words: str, said: Ask) -> None:
    code, out, err = said("diff", "none-of", "these-exist", "--report", value)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())


@pytest.mark.parametrize("link", ["javascript:alert(1)", "https://x)y", "http://a b", "https://x\ny"])
def test_a_link_that_could_break_out(link: str, said: Ask) -> None:
    code, _, err = said("diff", *TWO, "--link", link)
    assert code == 2
    assert "is not an address that a report can link to" in " ".join(err.split())


def test_a_job_s_summary_is_added_to(said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("summary.md").write_text("of another command\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    said("diff", *TWO, "--report", "summary=summary.md")
    assert Path("summary.md").read_text().startswith("of another command\n### 🔴 hlodiff: ")
    said("diff", *TWO, "--report", "comment=summary.md")
    assert Path("summary.md").read_text().startswith("<!-- hlodiff -->\n"), "other files are written anew"


@pytest.mark.parametrize("form", ["text", "markdown", "junit", "sarif", "codequality", "github", "summary", "comment"])
def test_a_saved_result_in_every_form_is_what_the_first_run_said(form: str, said: Ask) -> None:
    for options in ((), ("--all", "--stacks")):
        said("diff", *TWO, *options, "--format", "json", "-o", "result.json")
        direct = said("diff", *TWO, *options, "--format", form, "--link", LINK)
        assert said("diff", "result.json", "--format", form, "--link", LINK) == direct


@pytest.mark.parametrize("option", [("--format", "html"), ("--report", "html=page.html")], ids=" ".join)
def test_a_page_of_a_saved_result_names_what_makes_one(option: tuple[str, ...], said: Ask) -> None:
    saved(said)
    code, out, err = said("diff", "result.json", *option)
    assert (code, out, Path("page.html").exists()) == (2, "", False)
    assert "make it in the run itself: `hlodiff check` or `hlodiff diff` with --report html=FILE" in " ".join(
        err.split()
    )


def test_a_saved_result_as_text_fits_the_window_it_is_shown_in(said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(said)
    monkeypatch.setenv("COLUMNS", "60")
    narrow = said("diff", "result.json")
    assert narrow == said("diff", *TWO)
    assert max(map(len, narrow[1].splitlines())) <= 60
    assert said("diff", "result.json", "-o", "out.txt", "--report", "junit=out.xml")[0] == 0
    assert f"\nnext: {NEXT}\n" in Path("out.txt").read_text()
    assert ET.parse("out.xml").getroot().get("tests") == "2"


def test_a_file_whose_name_is_no_text(said: Ask) -> None:
    for folder, opcode in (("a", "tanh"), ("b", "negate")):
        Path(folder).mkdir()
        text = f"HloModule m\nENTRY e {{\n  %p = f32[8]{{0}} parameter(0)\n  ROOT %r = f32[8]{{0}} {opcode}(%p)\n}}\n"
        (Path(folder) / os.fsdecode(b"\xff::x.hlo")).write_text(text)
    for form in ("text", "json", "markdown", "junit", "sarif", "codequality", "github", "summary", "comment"):
        code, out, _ = said("diff", "a", "b", "--format", form)
        assert code == 0
        assert "\\udcff" in out or form in ("github", "sarif", "codequality"), form
        said("diff", "a", "b", "--format", form, "-o", "out")
    assert said("diff", "a", "b", "--format", "json", "-o", "result.json")[0] == 0
    assert said("diff", "result.json")[1].startswith("  changed: structure\n")


def test_results_that_cannot_be_read(said: Ask) -> None:
    Path("bad.json").write_bytes(b"\xff\xfe")
    Path("other.json").write_text('{"a": 1}')
    os.mkfifo("pipe.json")
    with Path("large.json").open("wb") as file:
        file.truncate(65 * 1024**2)
    for name, words in {
        "bad.json": "bad.json: is not UTF-8 text",
        "other.json": "other.json: not a result of hlodiff: format_version is 'None'",
        "pipe.json": "pipe.json: is not a plain file",
        "large.json": "large.json: is larger than 64 MiB",
        "none.json": "none.json: cannot be read: No such file or directory",
    }.items():
        code, out, err = said("diff", name)
        assert (code, out) == (2, "")
        assert words in err
