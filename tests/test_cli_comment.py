"""`hlodiff comment`: one comment in place, from an artifact that an enemy may have made, against a local server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.code_host_server import COMMIT, TOKEN, CodeHost, pull, served, workflow_run, zipped

ROOT = Path(__file__).parent.parent
LAYERS = ROOT / "tests/fixtures/report/layers"
Ask = Callable[..., tuple[int, str, str]]
QUIET = {"command": "check", "old": "snapshots", "new": "this work tree", "programs": []}


def quiet() -> str:
    """The result of a check that found nothing."""
    return json.dumps({"format_version": "1.0", "sheet": QUIET})


def red() -> str:
    """The result of a check that found a change."""
    program = {"name": "f", "target": "cpu", "stage": "compiled", "status": "changed", "headline": "1 changed"}
    return json.dumps({"format_version": "1.0", "sheet": QUIET | {"programs": [program], "next": "hlodiff update f"}})


@pytest.fixture
def code_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[CodeHost]:
    monkeypatch.chdir(tmp_path)
    with served(CodeHost()) as found:
        variables = {
            "GITHUB_API_URL": found.address,
            "GITHUB_SERVER_URL": "https://forge.example",
            "GITHUB_REPOSITORY": "owner/project",
            "GITHUB_RUN_ID": "456",
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_EVENT_PATH": "event.json",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("GITLAB_CI", raising=False)
        event(workflow_run())
        found.archive = zipped({"hlodiff.json": red(), "pull-request": "7\n"})
        yield found


def event(table: Any) -> None:
    Path("event.json").write_text(json.dumps(table))


def test_a_change_is_said_once_and_then_in_place(code_host: CodeHost, said: Ask) -> None:
    code_host.comment("<!-- hlodiff -->\nI only look like it", login="guest")
    code_host.comment("something else")
    assert said("comment") == (0, "comment on owner/project#7: added\n", "")
    body = code_host.bodies()[2]
    assert body.startswith("<!-- hlodiff -->\n### hlodiff: check\n")
    assert body.endswith(
        f"\n\nOf commit {COMMIT}.\n\n"
        "Meant? Record what CI captured: `gh run download 123 -R owner/project -n hlodiff-pending -D hlodiff-123"
        " && hlodiff accept --from hlodiff-123`\n\n"
        "1 changed; next\\: `hlodiff update f` ([details](https://forge.example/owner/project/actions/runs/123))\n"
    )
    assert said("comment") == (0, "comment on owner/project#7: left as it is\n", "")
    event(workflow_run(id=124))
    assert said("comment") == (0, "comment on owner/project#7: changed\n", "")
    code_host.archive = zipped({"hlodiff.json": quiet(), "pull-request": "7"})
    assert said("comment") == (0, "comment on owner/project#7: changed\n", "")
    assert "nothing to compare" in code_host.bodies()[2]
    assert "Meant?" not in code_host.bodies()[2]
    assert code_host.bodies()[0].endswith("I only look like it")
    assert code_host.writes() == [
        "POST /repos/owner/project/issues/7/comments",
        "PATCH /repos/owner/project/issues/comments/502",
        "PATCH /repos/owner/project/issues/comments/502",
    ]


def test_each_of_several_projects_has_a_comment_of_its_own(code_host: CodeHost, said: Ask) -> None:
    event({"pull_request": {"number": 5}})
    Path("hlodiff.json").write_text(red())
    for name in ("hlodiff", "models", "models"):
        assert said("comment", "hlodiff.json", "--artifact", name)[0] == 0
    assert [body.split("\n")[:2] for body in code_host.bodies()] == [
        ["<!-- hlodiff -->", "### hlodiff: check"],
        ["<!-- hlodiff models -->", "### hlodiff: check (`models`)"],
    ]
    assert "-n models-pending -D models-456" in code_host.bodies()[1]
    code, _, err = said("comment", "hlodiff.json", "--artifact", "a -->")
    assert (code, "is not an artifact name" in err) == (2, True)


def test_nothing_changed_and_nothing_is_said(code_host: CodeHost, said: Ask) -> None:
    code_host.archive = zipped({"hlodiff.json": quiet(), "pull-request": "7"})
    assert said("comment") == (0, "comment on owner/project#7: not needed\n", "")
    assert code_host.writes() == []


def test_our_comment_is_found_on_the_third_page(code_host: CodeHost, said: Ask) -> None:
    for number in range(230):
        code_host.comment(f"{number}", login="guest")
    code_host.comment("<!-- hlodiff -->\r\nold\r\n")
    assert said("comment")[1] == "comment on owner/project#7: changed\n"


def test_the_token_goes_to_the_api_alone(code_host: CodeHost, said: Ask) -> None:
    said("comment")
    assert dict(code_host.tokens) == {"api": f"Bearer {TOKEN}", "storage": ""}


def test_the_branch_of_a_fork_is_no_query(code_host: CodeHost, said: Ask) -> None:
    said("comment")
    (asked,) = [line for line in code_host.asked if "/pulls?" in line]
    assert "head=guest%3Aa+branch%26state%3Dclosed&" in asked


def test_each_line_links_to_its_file_in_the_commit(code_host: CodeHost, said: Ask) -> None:
    value = json.loads(red())
    value["sheet"]["programs"][0]["where"] = {"file": "a b/net.py", "line": 6, "function": "f", "library": False}
    code_host.archive = zipped({"hlodiff.json": json.dumps(value), "pull-request": "7"})
    assert said("comment")[0] == 0
    address = f"https://forge.example/owner/project/blob/{COMMIT}/a%20b/net.py#L6"
    assert f"| [`a b/net.py:6`]({address}) |" in code_host.bodies()[-1]


def test_each_function_links_to_its_place_on_the_page(code_host: CodeHost, said: Ask) -> None:
    assert said("comment", "--page", "https://pages.example/7/hlodiff.html#old")[0] == 0
    assert "| [details](https://pages.example/7/hlodiff.html#f/cpu) |" in code_host.bodies()[-1]
    code, _, err = said("comment", "--page", "javascript:alert(1)")
    assert (code, "is not an address that a report can link to" in err) == (2, True)


def test_a_dry_run_writes_nothing(code_host: CodeHost, said: Ask) -> None:
    code, out, _ = said("comment", "--dry-run")
    assert (code, code_host.writes()) == (0, [])
    assert out.endswith("\ncomment on owner/project#7: would be added\n")


# --- which pull request ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claimed", ["8", "999999"])
def test_a_number_of_another_pull_request_is_refused(code_host: CodeHost, said: Ask, claimed: str) -> None:
    code_host.pulls = [pull(7), pull(8, commit="b" * 40)]
    code_host.archive = zipped({"hlodiff.json": red(), "pull-request": claimed})
    code, _, err = said("comment")
    assert code == 2
    assert f"the artifact names pull request {claimed}, and the run was about 7: nothing is posted" in err
    assert code_host.writes() == []


@pytest.mark.parametrize(
    "other",
    [
        pull(7, commit="b" * 40),
        pull(7, head="other/project"),
        pull(7, base="other/project"),
        {"number": 7, "head": {"sha": COMMIT, "repo": None}, "base": {"repo": {"full_name": "owner/project"}}},
    ],
    ids=["pushed since", "another fork", "another project", "fork deleted"],
)
def test_where_no_pull_request_fits_nothing_is_said(code_host: CodeHost, said: Ask, other: dict[str, Any]) -> None:
    code_host.pulls = [other]
    code, out, err = said("comment")
    assert (code, out, code_host.writes()) == (0, "", [])
    assert "no open pull request has the commit of this run as its head" in err


def test_of_two_pull_requests_with_one_head_the_artifact_chooses(code_host: CodeHost, said: Ask) -> None:
    code_host.pulls = [pull(7), pull(8)]
    code_host.archive = zipped({"hlodiff.json": red(), "pull-request": "8"})
    assert said("comment")[1] == "comment on owner/project#8: added\n"
    code_host.archive = zipped({"hlodiff.json": red()})
    assert "fits pull requests [7, 8]" in said("comment")[2]


def test_without_a_number_the_event_is_enough(code_host: CodeHost, said: Ask) -> None:
    code_host.archive = zipped({"hlodiff.json": red()})
    assert said("comment")[1] == "comment on owner/project#7: added\n"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "has no `workflow_run`"),
        ([], "holds no event"),
        (workflow_run(event="push"), "its run was started by 'push', not by a pull request"),
        (workflow_run(head_sha="../../x"), "`head_sha` is not what GitHub writes there"),
        (workflow_run(id="1/../2"), "`id` is not a number"),
        (workflow_run() | {"repository": {"full_name": "a/b?x=y"}}, "`full_name` is not what GitHub writes there"),
    ],
    ids=["no event", "a list", "push", "commit", "id", "repository"],
)
def test_an_event_that_is_none(code_host: CodeHost, said: Ask, table: Any, words: str) -> None:
    event(table)
    code, _, err = said("comment")
    assert (code, code_host.asked) == (2, [])
    assert words in err


def test_a_fork_that_is_gone_has_no_pull_request(code_host: CodeHost, said: Ask) -> None:
    event(workflow_run(head_repository=None))
    assert said("comment")[0] == 0
    assert code_host.writes() == []


# --- a hostile artifact ----------------------------------------------------------------------------------------------

HOSTILE = {
    "no zip": (b"PK\x03\x04 not a zip file", "cannot be read"),
    "bomb": (zipped({"hlodiff.json": b" " * (64 * 1024**2 + 1)}), "hlodiff.json is larger than 67,108,864 bytes"),
    "files": (zipped({str(n): "" for n in range(1001)}), "holds 1,001 files"),
    "number": (zipped({"hlodiff.json": red(), "pull-request": "7; rm -rf"}), "pull-request holds no number"),
    "digits": (zipped({"hlodiff.json": red(), "pull-request": "\u0667"}), "pull-request holds no number"),
    "long": (zipped({"hlodiff.json": red(), "pull-request": "7" * 99}), "pull-request is larger than 64 bytes"),
    "bytes": (zipped({"hlodiff.json": b"\xff\xfe"}), "hlodiff.json is not UTF-8 text"),
    "JSON": (zipped({"hlodiff.json": "[" * 100_000}), "not a result of hlodiff: no JSON"),
    "values": (zipped({"hlodiff.json": red().replace('"cpu"', '{"a": 1}')}), "is not a string that a report can have"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_artifact_is_refused(code_host: CodeHost, said: Ask, kind: str) -> None:
    code_host.archive, words = HOSTILE[kind]
    code, out, err = said("comment")
    assert (code, out, code_host.writes()) == (2, "", [])
    assert words in err


def test_paths_in_the_artifact_lead_nowhere(code_host: CodeHost, said: Ask, tmp_path: Path) -> None:
    names = ("../../escaped", "/escaped", "a/../../escaped", "hlodiff.json/../x", "./hlodiff.json")
    before = sorted(path.name for path in tmp_path.parent.rglob("*"))
    code_host.archive = zipped({**dict.fromkeys(names, "x"), "pull-request": "7"})
    code, _, err = said("comment")
    assert (code, code_host.writes()) == (0, [])
    assert "has uploaded no result" in err
    assert sorted(path.name for path in tmp_path.parent.rglob("*")) == before


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_twice_is_refused(code_host: CodeHost, said: Ask) -> None:
    packed = zipped({"hlodiff.json": red(), "hlodiff.jsoX": quiet()}).replace(b"hlodiff.jsoX", b"hlodiff.json")
    code_host.archive = packed
    assert "names hlodiff.json 2 times" in said("comment")[2]


def test_a_size_that_is_said_too_large_is_not_even_loaded(code_host: CodeHost, said: Ask) -> None:
    code_host.said_size = 64 * 1024**2 + 1
    assert "is larger than 64 MiB" in said("comment")[2]
    assert not any("/zip" in line for line in code_host.asked)


def test_names_in_the_result_stay_text(code_host: CodeHost, said: Ask) -> None:
    name = "</details><img src=x> @owner [x](javascript:1) `a`\n<!-- hlodiff -->"
    code_host.archive = zipped({"hlodiff.json": red().replace('"f"', json.dumps(name))})
    assert said("comment")[0] == 0
    (body,) = code_host.bodies()
    assert "<img" not in body and "@owner" not in body
    assert "[withheld]" in body
    assert body.count("\n<!-- hlodiff -->") == 0


def test_no_command_of_a_result_is_in_the_comment(code_host: CodeHost, said: Ask) -> None:
    evil = "hlodiff upgrade 'evil @ https://evil.example'"
    program = {
        "name": "f",
        "target": "cpu",
        "stage": "compiled",
        "status": "not_checked",
        "reason": evil,
        "advice": evil,
    }
    finding = {"severity": "error", "rule": "growth", "program": "f", "target": None, "what": evil, "advice": evil}
    sheet = QUIET | {"programs": [program], "findings": [finding], "notes": [evil], "next": evil}
    code_host.archive = zipped(
        {"hlodiff.json": json.dumps({"format_version": "1.0", "sheet": sheet}), "pull-request": "7"}
    )
    assert said("comment")[0] == 0
    (body,) = code_host.bodies()
    assert "evil" not in body
    assert "hint" not in body
    assert "next" not in body


def test_a_member_that_lies_about_its_size(code_host: CodeHost, said: Ask) -> None:
    packed = bytearray(zipped({"hlodiff.json": b"x" * 100}))
    at = packed.rindex(b"PK\x01\x02")
    packed[at + 24 : at + 28] = (3).to_bytes(4, "little")
    code_host.archive = bytes(packed)
    code, out, err = said("comment")
    assert (code, out) == (2, "")
    assert "cannot be read" in err


# --- the code host says no --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "hint"), [(403, True), (404, True), (500, False)])
def test_what_the_api_refuses_is_told(code_host: CodeHost, said: Ask, status: int, hint: bool) -> None:
    code_host.fail["/comments"] = status
    code, out, err = said("comment")
    assert (code, out) == (2, "")
    assert f"GET /repos/owner/project/issues/7/comments: answered {status}" in err
    assert ("permissions: pull-requests: write" in err) == hint
    assert TOKEN not in err


def test_a_run_without_an_artifact_says_nothing(code_host: CodeHost, said: Ask) -> None:
    code_host.archive = None
    code, out, err = said("comment")
    assert (code, out) == (0, "")
    assert "run 123 has uploaded no result as `hlodiff`" in err


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GITHUB_EVENT_PATH", "GITHUB_API_URL"])
def test_what_is_missing_is_named(code_host: CodeHost, said: Ask, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name)
    code, _, err = said("comment")
    assert (code, f"{name} is not set" in err, code_host.asked) == (2, True, [])


def test_a_server_that_is_not_there(code_host: CodeHost, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    code, _, err = said("comment")
    assert (code, "cannot be reached" in err) == (2, True)


# --- without a second workflow, and GitLab ---------------------------------------------------------------------------


def test_in_the_workflow_of_the_pull_request_itself(code_host: CodeHost, said: Ask) -> None:
    event({"pull_request": {"number": 5}})
    Path("hlodiff.json").write_text(red())
    assert said("comment", "hlodiff.json") == (0, "comment on owner/project#5: added\n", "")
    assert "gh run download 456" in code_host.bodies()[0] and "Of commit" not in code_host.bodies()[0]
    for head, is_said in (({"sha": COMMIT}, True), ({"sha": "0123abc\n@you"}, False), ("main", False)):
        event({"pull_request": {"number": 5, "head": head}})
        said("comment", "hlodiff.json")
        assert (f"\n\nOf commit {COMMIT}.\n\n" in code_host.bodies()[0]) == is_said
        assert "@you" not in code_host.bodies()[0]
    event({"push": 1})
    assert "this event has no pull request" in said("comment", "hlodiff.json")[2]


@pytest.fixture
def gitlab(code_host: CodeHost, monkeypatch: pytest.MonkeyPatch) -> CodeHost:
    variables = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": code_host.address,
        "CI_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_IID": "6",
        "CI_PIPELINE_URL": "https://forge.example/p/9",
        "HLODIFF_GITLAB_TOKEN": TOKEN,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    Path("hlodiff.json").write_text(red())
    return code_host


def test_a_note_on_a_merge_request(gitlab: CodeHost, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    gitlab.comment("<!-- hlodiff -->\nsomebody else's", ident=1)
    assert said("comment", "hlodiff.json") == (0, "comment on project 42!6: added\n", "")
    assert said("comment", "hlodiff.json")[1] == "comment on project 42!6: left as it is\n"
    Path("hlodiff.json").write_text(quiet())
    assert said("comment", "hlodiff.json")[1] == "comment on project 42!6: changed\n"
    path = "/projects/42/merge_requests/6/notes"
    assert gitlab.writes() == [f"POST {path}", f"PUT {path}/501"]
    monkeypatch.setenv("CI_COMMIT_SHA", COMMIT)
    assert said("comment", "hlodiff.json")[1] == "comment on project 42!6: changed\n"
    assert f"Of commit {COMMIT}." in gitlab.bodies()[1]
    assert {token for _, token in gitlab.tokens} == {TOKEN}


def test_no_line_of_a_note_is_a_command(gitlab: CodeHost, said: Ask) -> None:
    reason = "x\n/merge\n /close"
    program = {"name": "/merge", "target": "cpu", "stage": "compiled", "status": "not_checked", "reason": reason}
    finding = {"severity": "error", "rule": "r", "program": "p", "target": None, "what": "/merge\n/close"}
    sheet = QUIET | {"programs": [program], "findings": [finding], "notes": ["\n/merge"]}
    Path("hlodiff.json").write_text(json.dumps({"format_version": "1.0", "sheet": sheet}))
    assert said("comment", "hlodiff.json")[0] == 0
    assert not [line for line in gitlab.bodies()[0].split("\n") if line.lstrip().startswith("/")]


def test_a_pipeline_of_no_merge_request(gitlab: CodeHost, said: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI_MERGE_REQUEST_IID")
    assert "this is not a merge request pipeline" in said("comment", "hlodiff.json")[2]
    assert "on GitLab the result is a file" in said("comment")[2]


def test_commenting_needs_next_to_nothing_installed(code_host: CodeHost) -> None:
    """A process that holds a token that may write should not run the code of thirty packages."""
    code = (
        "import sys, click; from hlodiff.cli import run; before = set(sys.modules); assert run(['comment']) == 0\n"
        "print(sorted({n.split('.')[0] for n, m in sys.modules.items() if n not in before"
        " and 'site-packages' in str(getattr(m, '__file__', ''))} - {'hlodiff', 'click'}))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "comment on owner/project#7: added\n[]\n"
