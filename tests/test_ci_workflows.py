"""The workflows as `hlodiff init --ci` writes them: their steps run here, green, then red, then accepted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from hlodiff.cli import run as command_line
from tests.code_host_server import COMMIT, TOKEN, CodeHost, served, workflow_run, zipped
from tests.test_docs import blocks, played
from tests.workflows import ROOT, Runner, read

OURS = "somebody/hlodiff@v0.1.0"
PULL = {"pull_request": {"number": 7, "title": "$(touch title) `touch title`"}}
CHECK, COMMENT, UPGRADE = (f".github/workflows/hlodiff{name}.yml" for name in ("", "-comment", "-upgrade"))


def run(folder: Path, *command: str, code: int = 0) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "110"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def hlodiff(folder: Path, *arguments: str, code: int = 0) -> str:
    return run(folder, sys.executable, "-m", "hlodiff", *arguments, code=code)


def git(folder: Path, *arguments: str) -> str:
    return run(folder, "git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments)


def commit(folder: Path, what: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", what)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with workflows and no snapshots yet."""
    folder = tmp_path / "a project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    assert command_line(["init", str(folder), "--ci", "github", "--ci", "github-upgrade", "--action", OURS]) == 0
    commit(folder, "set up")
    return folder


def pretending(runner: Runner, code: int = 0) -> Path:
    """Stand in for pip, and for hlodiff: keep its arguments, write what a check writes, and end with a code."""
    seen = runner.home / "arguments"
    script = f"""[ "$1" != --version ] || exit 0
for one; do printf '%s\\n' "$one"; done > '{seen}'
for one; do case "$one" in json=*) echo '{{}}' > "${{one#json=}}";; *upgrade.md) echo '# what' > "$one";; esac; done
[ -z "$PENDING_TEXT" ] || echo x > "$RUNNER_TEMP/hlodiff-hlodiff/pending/x"
env > '{runner.home / "variables"}'
exit {code}"""
    runner.program("hlodiff", script)
    runner.program("python", f'case "$*" in "-m pip install"*) ;; *) exec "{sys.executable}" "$@";; esac')
    return seen


# --- the steps alone, with a stand-in for hlodiff --------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_verdict_of_the_job_is_that_of_the_check(project: Path, tmp_path: Path, code: int) -> None:
    runner = Runner(tmp_path / "ci", PULL, "pull_request", project, {"PENDING_TEXT": "1"})
    seen = pretending(runner, code)
    assert runner.play(project / CHECK) == (code == 0)
    arguments = seen.read_text().splitlines()
    out = tmp_path / "ci/temp/hlodiff-hlodiff"
    link = "https://forge.example/owner/project/actions/runs/123"
    assert arguments[:5] == ["check", "--pending", str(out / "pending"), "--link", link]
    assert (tmp_path / "ci/artifacts/hlodiff/pull-request").read_text() == "7\n"
    assert (tmp_path / "ci/artifacts/hlodiff-pending/x").is_file()
    assert runner.used.count("actions/upload-artifact@v4") == 3
    assert not list(tmp_path.rglob("title")), "what a pull request is called is never part of a script"
    assert "job-token" not in (tmp_path / "ci/variables").read_text()


def test_a_command_that_is_none_is_no_pass(project: Path, tmp_path: Path) -> None:
    path = project / CHECK
    path.write_text(path.read_text().replace("command: check", "command: chekc"))
    runner = Runner(tmp_path / "ci", PULL, "pull_request", project)
    seen = pretending(runner)
    assert not runner.play(path)
    assert runner.output.strip() == "::error::the input command is none of check, comment, upgrade"
    assert not seen.exists()


def test_further_arguments_are_words_and_no_script(project: Path, tmp_path: Path) -> None:
    path = project / CHECK
    path.write_text(path.read_text() + "          arguments: --target * $(touch x) ;touch y --against origin/main\n")
    table = read(path)["jobs"]["check"]["steps"][2]
    assert table["with"]["arguments"].startswith("--target"), "the last lines of the file are those of the action"
    runner = Runner(tmp_path / "ci", PULL, "pull_request", project)
    seen = pretending(runner)
    assert runner.play(path)
    words = ["check", "--target", "*", "$(touch", "x)", ";touch", "y", "--against", "origin/main", "--link"]
    assert seen.read_text().splitlines()[: len(words)] == words, "and nothing is left pending"


def test_a_push_has_no_number(project: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path / "ci", {"ref": "refs/heads/main"}, "push", project)
    pretending(runner)
    assert runner.play(project / CHECK)
    assert (tmp_path / "ci/artifacts/hlodiff/pull-request").read_text() == "\n"


def test_only_the_default_branch_writes_what_was_compiled(project: Path, tmp_path: Path) -> None:
    pushed = {"ref": "refs/heads/main", "repository": {"default_branch": "main"}}
    cache = tmp_path / "ci/temp/hlodiff-compile-cache"
    saved = tmp_path / f"ci/caches/hlodiff-compile-Linux-{'0' * 40}"
    branch = {"GITHUB_REF_NAME": "branch"}
    for event, name, env, mode in (
        (PULL, "pull_request", {}, ":ro"),
        (PULL | pushed, "pull_request", {}, ":ro"),
        (pushed, "push", branch, ":ro"),
        (pushed, "push", {}, ""),
        (PULL | pushed, "pull_request", {}, ":ro"),
    ):
        was_saved = saved.exists()
        runner = Runner(tmp_path / "ci", event, name, project, env)
        pretending(runner)
        runner.program("hlodiff", f"mkdir -p '{cache}'; echo more >> '{cache}/x'\n" + 'env > "$RUNNER_TEMP/variables"')
        assert runner.play(project / CHECK)
        variables = (tmp_path / "ci/temp/variables").read_text().splitlines()
        assert f"HLODIFF_COMPILE_CACHE={cache}{mode}" in variables
        assert saved.exists() == (was_saved or not mode), (event, name)
        assert ("actions/cache/save@v4" in runner.used) == (not mode)
        shutil.rmtree(cache)
    assert (saved / "x").read_text() == "more\n", "what a pull request adds to its copy is not kept"


def test_where_the_project_cannot_be_installed_nothing_is_checked(project: Path, tmp_path: Path) -> None:
    path = project / CHECK
    write_step(path, {"install": "echo first\nfalse\necho second\n"})
    runner = Runner(tmp_path / "ci", PULL, "pull_request", project)
    seen = pretending(runner)
    assert not runner.play(path)
    assert "first" in runner.output
    assert "second" not in runner.output
    assert not seen.exists()
    assert not (tmp_path / "ci/artifacts/hlodiff").exists()


@pytest.mark.parametrize("extras", ["", "tpu"])
def test_hlodiff_is_installed_from_the_action_where_it_is_not_there(project: Path, tmp_path: Path, extras: str) -> None:
    runner = Runner(tmp_path / "ci", PULL, "pull_request", project)
    (runner.home / "bin/hlodiff").unlink()
    # pip is not asked for packages: what it is asked is what counts.
    runner.program("python", 'echo "$@"; exit 1')
    write_step(project / CHECK, {"extras": extras})
    assert not runner.play(project / CHECK)
    assert runner.output.strip() == f"-m pip install {ROOT}{f'[{extras}]' if extras else ''}"


def test_extras_are_installed_where_the_project_brings_hlodiff(project: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path / "ci", PULL, "pull_request", project)
    seen = runner.home / "asked"
    stand_in = f'cat hlodiff-extras > "{seen}"; exit 1'
    runner.program("python", f'case "$*" in "-m pip install"*) {stand_in};; esac\nexec "{sys.executable}" "$@"')
    write_step(project / CHECK, {"extras": "tpu,cuda"})
    assert not runner.play(project / CHECK)
    assert seen.read_text().split() == ["libtpu", "jax-cuda12-plugin", "jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12"]


def write_step(path: Path, inputs: dict[str, str]) -> None:
    """Give the action of a workflow other inputs."""
    table = read(path)
    table["jobs"]["check"]["steps"][2]["with"] = {"command": "check", **inputs}
    path.write_text(yaml.safe_dump(table))


def test_what_a_pull_request_left_behind_is_not_run_beside_the_token(project: Path, tmp_path: Path) -> None:
    """A runner that is kept has the files of the last job: those of the pull request."""
    with served(CodeHost(archive=None)) as code_host:
        runner = commenting(tmp_path / "ci", code_host)
        for name in ("pip.py", "click.py", "hlodiff.py", "venv.py"):
            (runner.home / "workspace" / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
        (runner.home / "workspace/pyproject.toml").write_text("no TOML")
        runner.program("hlodiff", f'touch "{tmp_path}/ran"')
        assert runner.play(project / COMMENT), runner.output
    assert not (tmp_path / "ran").exists()
    assert f"-m pip install --no-deps --no-build-isolation {ROOT}\n" in runner.output
    assert "-m pip install --no-deps --require-hashes -r " in runner.output


def test_the_steps_of_the_page(project: Path, tmp_path: Path) -> None:
    """Lists of steps, each in the place of the action in the workflow that is written."""
    lists = [text for _, text in blocks(ROOT / "docs/ci.md", "yaml") if text.startswith("      - uses: <OWNER>")]
    assert len(lists) == 2
    before = (project / CHECK).read_text().partition("      - uses: somebody")[0]
    for number, text in enumerate(lists):
        (project / CHECK).write_text(before + text)
        runner = Runner(tmp_path / str(number), PULL, "pull_request", project)
        seen = pretending(runner)
        assert runner.play(project / CHECK)
        assert ("--against\norigin/main...\n" in seen.read_text()) == ("--against" in text)


@pytest.mark.parametrize(
    ("event", "requirement"), [(None, "jax"), ({"requirement": "jax==0.10.2 flax"}, "jax==0.10.2 flax")]
)
def test_the_weekly_upgrade(project: Path, tmp_path: Path, event: dict[str, str] | None, requirement: str) -> None:
    runner = Runner(tmp_path / "ci", {"inputs": event}, "schedule", project)
    seen = pretending(runner)
    assert runner.play(project / UPGRADE)
    assert seen.read_text().splitlines()[-len(requirement.split()) - 1 :] == ["--", *requirement.split()]
    assert runner.summary == "# what\n"
    assert "hlodiff" not in {path.name for path in (tmp_path / "ci/artifacts").iterdir()}


@pytest.mark.parametrize(
    "changed", [{"event": "push"}, {"conclusion": "cancelled"}, {"event": "schedule", "conclusion": "success"}]
)
def test_runs_of_no_pull_request_are_not_commented(project: Path, tmp_path: Path, changed: dict[str, str]) -> None:
    runner = Runner(tmp_path / "ci", workflow_run(**changed), "workflow_run")
    assert runner.play(project / COMMENT)
    assert runner.used == []


def test_a_hostile_artifact_fails_the_comment_and_writes_nothing(project: Path, tmp_path: Path) -> None:
    with served(
        CodeHost(archive=zipped({"hlodiff.json": "{}", "../../../evil": "x", "pull-request": "7"}))
    ) as code_host:
        runner = commenting(tmp_path / "ci", code_host)
        assert not runner.play(project / COMMENT)
    assert "not a result of hlodiff" in runner.output
    assert code_host.writes() == []
    assert not list(tmp_path.rglob("evil"))


def commenting(home: Path, code_host: CodeHost) -> Runner:
    env = {"GITHUB_API_URL": code_host.address, "GITHUB_SERVER_URL": "https://forge.example", "TOKEN_OF_JOB": TOKEN}
    runner = Runner(home, workflow_run(), "workflow_run", env=env)
    assert not any((home / "workspace").iterdir()), "nothing of the pull request is there"
    return runner


# --- the real thing --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_green_then_red_then_accepted(project: Path, tmp_path: Path) -> None:
    """What docs/ci.md promises: a check that is green, a change that makes it red, and what CI captured accepted."""
    shutil.rmtree(project / ".github")
    for name in ("pyproject.toml", "hlodiff_programs.py", ".gitattributes"):
        (project / name).unlink()
    assert played(ROOT / "docs/ci.md", project) > 0
    commit(project, "recorded")
    green = Runner(tmp_path / "green", PULL, "pull_request", project)
    assert green.play(project / CHECK), green.output
    assert "1 unchanged" in green.output
    assert "1 unchanged" in green.summary

    module = project / "hlodiff_programs.py"
    module.write_text(module.read_text().replace("predicted - y", "predicted.astype(jnp.bfloat16) - y"))
    commit(project, "change")
    red = Runner(tmp_path / "red", PULL, "pull_request", project)
    assert not red.play(project / CHECK)
    assert "::error file=hlodiff_programs.py,line=12," in red.output
    assert "| `first_gradient` |" in red.summary
    artifacts = tmp_path / "red/artifacts"
    assert (artifacts / "hlodiff-page/hlodiff.html").read_text().lower().startswith("<!doctype html>")
    assert sorted(path.name for path in (artifacts / "hlodiff").iterdir()) == [
        "hlodiff.json",
        "hlodiff.sarif",
        "hlodiff.xml",
        "pull-request",
    ]

    red_body = ""
    with served(CodeHost()) as code_host:
        for runner in (red, green):
            code_host.archive = zipped({p.name: p.read_bytes() for p in (runner.home / "artifacts/hlodiff").iterdir()})
            assert commenting(tmp_path / f"comment on {runner.home.name}", code_host).play(project / COMMENT)
            red_body = red_body or code_host.bodies()[0]
    assert [line.split("?")[0] for line in code_host.writes()] == [
        "POST /repos/owner/project/issues/7/comments",
        "PATCH /repos/owner/project/issues/comments/500",
    ]
    assert "1 unchanged" in code_host.bodies()[0]

    (command,) = re.findall(r"`(gh run download .*)`", red_body)
    assert command.endswith(" -D hlodiff-123 && hlodiff accept --from hlodiff-123")
    shutil.copytree(artifacts / "hlodiff-pending", project / "hlodiff-123")  # what `gh run download` does
    assert "1 accepted" in hlodiff(project, "accept", "--from", "hlodiff-123")
    assert git(project, "status", "--short").split()[1::2] == [
        f"snapshots/first_gradient/cpu/{name}"
        for name in ("compiled.hlo", "source.json", "stablehlo.mlir", "summary.yaml")
    ]
    commit(project, "meant")
    again = Runner(tmp_path / "again", PULL, "pull_request", project)
    assert again.play(project / CHECK), again.output


@pytest.mark.slow
def test_the_jobs_of_gitlab(tmp_path: Path) -> None:
    """The scripts as they stand, with a stand-in for pip and a server that keeps notes."""
    assert command_line(["init", str(tmp_path), "--ci", "gitlab"]) == 0
    jobs = yaml.safe_load((tmp_path / ".gitlab/hlodiff.yml").read_text())
    runner = Runner(tmp_path / "bin of", {}, "")
    runner.program("python", f'case "$*" in "-I -m venv"*) {runner.environment()};; *) echo "$@";; esac')
    left = "import sys; sys.exit('this ran beside the token')"
    with served(CodeHost()) as code_host:
        env = {
            "PATH": f"{runner.home / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path),
            "GITLAB_CI": "true", "CI": "true", "CI_PROJECT_DIR": str(tmp_path), "CI_API_V4_URL": code_host.address,
            "CI_PROJECT_ID": "42", "CI_MERGE_REQUEST_IID": "6", "CI_PIPELINE_URL": "https://forge.example/p/9",
            "HLODIFF_GITLAB_TOKEN": TOKEN,
        }  # fmt: skip

        def play(job: str) -> int:
            script = "\n".join(jobs[job]["script"])
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=env, text=True, capture_output=True,
                timeout=300, check=False,
            )  # fmt: skip
            printed.append(done.stdout + done.stderr)
            return done.returncode

        printed: list[str] = []
        assert play("hlodiff") == 2, "it must not see the token"
        assert not (tmp_path / "hlodiff.json").exists()
        assert "can read HLODIFF_GITLAB_TOKEN" in printed[-1]
        del env["HLODIFF_GITLAB_TOKEN"]
        assert play("hlodiff") == 1, "nothing is recorded yet"
        assert printed[-1].startswith("-m pip install hlodiff @ git+")
        assert play("hlodiff-comment") == 0, "a fork has no token"
        assert (printed[-1], code_host.writes()) == ("HLODIFF_GITLAB_TOKEN is not set, so no note is posted.\n", [])
        env["HLODIFF_GITLAB_TOKEN"] = TOKEN
        for name in ("pip.py", "click.py", "hlodiff.py", "sitecustomize.py"):
            (tmp_path / name).write_text(left)
        (tmp_path / "pyproject.toml").write_text("no TOML")
        assert play("hlodiff-comment") == 0, printed[-1]
        assert "-m pip install --no-deps --no-build-isolation hlodiff @ git+" in printed[-1]
        assert "--require-hashes -r requirements.txt" in printed[-1]
    reports = jobs["hlodiff"]["artifacts"]["reports"]
    assert (tmp_path / reports["junit"]).read_text().startswith("<?xml")
    (finding,) = json.loads((tmp_path / reports["codequality"]).read_text())
    assert finding["location"] == {"path": "hlodiff_programs.py", "lines": {"begin": 15}}
    assert all((tmp_path / path).exists() for path in jobs["hlodiff"]["artifacts"]["paths"])
    assert code_host.writes() == ["POST /projects/42/merge_requests/6/notes"]
    assert COMMIT not in code_host.bodies()[0]
