"""Files for a CI: what every workflow, action and recipe must and must not say, and `hlodiff init --ci`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hlodiff import __version__
from hlodiff.cli.ci_files import RECIPES
from tests.test_docs import blocks
from tests.workflows import EMBEDDED, ROOT, read

HERE = ROOT / "hlodiff/cli/recipes"
PAGE = ROOT / "docs/ci.md"
WORKFLOWS = sorted(HERE.glob("github-*.yml"))
ALL = [ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", *sorted(HERE.glob("*.yml"))]
# Tags: a hash of a commit cannot be looked up where this is made, and the page says how to pin one.
ACTIONS = (
    "actions/checkout@v4",
    "actions/setup-python@v5",
    "actions/upload-artifact@v4",
    "github/codeql-action/upload-sarif@v3",
)
OURS = f"OWNER/hlodiff@v{__version__}"
Ask = Callable[..., tuple[int, str, str]]


def tables(value: Any) -> Iterator[dict[str, Any]]:
    """All tables in a value, itself too."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from tables(one)


def page_blocks() -> list[tuple[str, str]]:
    return blocks(PAGE, "yaml")


def every_yaml() -> dict[str, Any]:
    found = {path.relative_to(ROOT).as_posix(): yaml.safe_load(path.read_text()) for path in ALL}
    return found | {f"ci.md {number}": yaml.safe_load(text) for number, (_, text) in enumerate(page_blocks())}


YAML = every_yaml()


# --- what holds for all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", YAML)
def test_nothing_that_others_wrote_becomes_part_of_a_script(name: str) -> None:
    scripts = [table[key] for table in tables(YAML[name]) for key in ("run", "script", "entry") if key in table]
    assert [script for script in scripts if "${{" in str(script)] == []


@pytest.mark.parametrize("name", YAML)
def test_only_known_actions_are_used_each_with_its_version(name: str) -> None:
    used = [table["uses"] for table in tables(YAML[name]) if "uses" in table]
    assert [action for action in used if action not in (*ACTIONS, OURS)] == []


@pytest.mark.parametrize("path", [*ALL, PAGE], ids=lambda path: path.name)
def test_no_script_comes_from_elsewhere(path: Path) -> None:
    text = "\n".join(text for _, text in page_blocks()) if path == PAGE else path.read_text()
    assert not re.findall(r"curl|wget|\beval\b|pull_request_target|secrets: inherit|write-all", text)
    assert not re.findall(r"https?://(?!github\.com/OWNER/)", text)


@pytest.mark.parametrize("name", [path.name for path in WORKFLOWS])
def test_every_workflow_is_bounded(name: str) -> None:
    table = read(HERE / name)
    assert table["concurrency"]["group"].startswith("hlodiff")
    assert set(table["permissions"].values()) <= {"read", "write"}
    for job in table["jobs"].values():
        assert 1 <= job["timeout-minutes"] <= 60
        assert "permissions" not in job, "those of the workflow are all"


def test_what_runs_the_code_of_a_pull_request_may_read_and_nothing_else() -> None:
    for name in ("github-check.yml", "github-upgrade.yml"):
        table = read(HERE / name)
        assert table["permissions"] == {"contents": "read"}
        assert "secrets." not in (HERE / name).read_text()
        checkouts = [one for one in tables(table) if str(one.get("uses", "")).startswith("actions/checkout")]
        assert [one["with"] for one in checkouts] == [{"persist-credentials": False}]
    assert set(read(HERE / "github-check.yml")["on"]) == {"pull_request", "push"}


def test_what_may_write_runs_nothing_of_the_pull_request() -> None:
    table = read(HERE / "github-comment.yml")
    assert table["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert table["on"] == {
        "workflow_run": {"workflows": [read(HERE / "github-check.yml")["name"]], "types": ["completed"]}
    }
    (job,) = table["jobs"].values()
    assert [step["uses"] for step in job["steps"]] == ["actions/setup-python@v5", OURS]
    assert [step.get("with") for step in job["steps"]] == [{"python-version": "3.12"}, {"command": "comment"}]


def test_the_token_of_the_action_reaches_one_step() -> None:
    steps = read(ROOT / "action.yml")["runs"]["steps"]
    (seen,) = [step for step in steps if "inputs.token" in json.dumps(step)]
    assert (seen["name"], seen["if"]) == ("Comment", "${{ inputs.command == 'comment' }}")
    assert seen["run"].startswith("hlodiff comment ")


def test_no_recipe_interpolates_what_it_does_not_know() -> None:
    allowed = re.compile(
        r"(github\.(event\.(pull_request\.number|workflow_run\.(event|conclusion|head_branch|head_repository\.full_name))"
        r"|ref|server_url|repository|run_id|token)|runner\.temp|inputs\.[\w-]+|steps\.\w+\.outputs\.[\w-]+"
        r"|!?cancelled\(\)|'[\w.]*'|==|!=|&&|\|\||\s)+"
    )
    for path in (ROOT / "action.yml", *WORKFLOWS):
        for expression in EMBEDDED.findall(path.read_text()):
            assert allowed.fullmatch(expression.strip()), (path.name, expression)


# --- init ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written() -> dict[str, str]:
    return {path.as_posix(): path.read_text() for path in sorted(Path().rglob("*.yml"))}


def test_a_new_project_with_ci(folder: Path, said: Ask) -> None:
    code, out, _ = said("init", "--ci", "github", "--action", "somebody/hlodiff@v9")
    assert (code, out) == (
        0,
        "wrote [tool.hlodiff] in pyproject.toml\nwrote hlodiff_programs.py\nwrote .gitattributes\n"
        "wrote .github/workflows/hlodiff.yml\nwrote .github/workflows/hlodiff-comment.yml\nnext: hlodiff update\n",
    )
    check = read(folder / ".github/workflows/hlodiff.yml")
    assert check["jobs"]["check"]["steps"][2] == {"uses": "somebody/hlodiff@v9", "with": {"command": "check"}}
    assert "# install: python -m pip install -e .\n" in written()[".github/workflows/hlodiff.yml"]
    assert (
        read(folder / ".github/workflows/hlodiff-comment.yml")["jobs"]["comment"]["steps"][1]["uses"]
        == "somebody/hlodiff@v9"
    )


def test_a_project_that_is_set_up_gets_the_files_alone(folder: Path, said: Ask) -> None:
    said("init")
    Path("requirements.txt").write_text("jax==0.10.2\n")
    text = Path("pyproject.toml").read_text()
    Path("pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\n' + text)
    before = {path: path.read_text() for path in folder.iterdir() if path.is_file()}
    code, out, _ = said("init", "--ci", "github", "--ci", "github-upgrade", "--action", "somebody/hlodiff@v9")
    assert (code, out) == (
        0,
        "wrote .github/workflows/hlodiff.yml\nwrote .github/workflows/hlodiff-comment.yml\n"
        "wrote .github/workflows/hlodiff-upgrade.yml\nnext: hlodiff check, then commit\n",
    )
    assert {path: path.read_text() for path in before} == before
    for name in ("hlodiff", "hlodiff-upgrade"):
        assert (
            "          install: python -m pip install -r requirements.txt -e .\n"
            in written()[f".github/workflows/{name}.yml"]
        )
    assert said("init", "--ci", "github", "--action", "somebody/hlodiff@v9")[1] == (
        ".github/workflows/hlodiff.yml is there already\n.github/workflows/hlodiff-comment.yml is there already\n"
        "next: hlodiff check, then commit\n"
    )


def test_a_file_that_says_something_else_is_never_overwritten(folder: Path, said: Ask) -> None:
    Path(".github/workflows").mkdir(parents=True)
    Path(".github/workflows/hlodiff-comment.yml").write_text("mine\n")
    code, out, err = said("init", "--ci", "github")
    assert (code, out) == (2, "")
    assert ".github/workflows/hlodiff-comment.yml: exists and says something else; nothing is overwritten" in err
    assert written() == {".github/workflows/hlodiff-comment.yml": "mine\n"}
    assert not Path("pyproject.toml").exists()


def test_where_nobody_knows_the_repository_of_hlodiff_it_says_so(
    folder: Path, said: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlodiff.cli.ci_files._origin", lambda: "")
    out = said("init", "--ci", "github")[1]
    both = ".github/workflows/hlodiff.yml and .github/workflows/hlodiff-comment.yml"
    assert f"in {both}: put the account that has the repository of hlodiff in place of OWNER\n" in out
    assert OURS in written()[".github/workflows/hlodiff.yml"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ({"url": "https://github.com/me/hlodiff.git", "vcs_info": {"commit_id": "a" * 40}}, f"me/hlodiff@{'a' * 40}"),
        ({"url": "https://github.com/me/hlodiff.git"}, ""),
        ({"url": "https://forge.example/me/hlodiff", "vcs_info": {"commit_id": "a" * 40}}, ""),
        ({"url": "file:///x", "dir_info": {"editable": True}}, ""),
        (None, ""),
    ],
)
def test_an_installation_from_github_pins_its_own_commit(
    url: Any, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hlodiff.cli import ci_files

    class Installed:
        def read_text(self, name: str) -> str | None:
            return json.dumps(url) if url else None

    monkeypatch.setattr(ci_files, "distribution", lambda name: Installed())
    assert ci_files._origin() == expected


def test_a_project_below_the_top_of_its_repository(folder: Path, said: Ask) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path("packages/my ml").mkdir(parents=True)
    assert said("init", "packages/my ml", "--ci", "github", "--action", "a/hlodiff@v1")[0] == 0
    (check, *_) = [step for step in _steps("hlodiff.yml") if step["uses"] == "a/hlodiff@v1"]
    assert check["with"] == {"command": "check", "working-directory": "packages/my ml"}
    assert "working-directory" not in written()[".github/workflows/hlodiff-comment.yml"]
    code, _, err = said("init", "packages/my ml", "--ci", "gitlab")
    assert (code, "the project is a folder of its repository" in err) == (2, True)


def _steps(name: str) -> list[dict[str, Any]]:
    (job,) = read(Path(".github/workflows") / name)["jobs"].values()
    return list(job["steps"])


def test_gitlab(folder: Path, said: Ask) -> None:
    Path("requirements.txt").write_text("jax==0.10.2\nhlodiff\n")
    out = said("init", "--ci", "gitlab")[1]
    assert out.endswith("wrote .gitlab/hlodiff.yml\nwrote .gitlab-ci.yml\nnext: hlodiff update\n")
    assert yaml.safe_load(Path(".gitlab-ci.yml").read_text()) == {"include": [{"local": ".gitlab/hlodiff.yml"}]}
    jobs = yaml.safe_load(Path(".gitlab/hlodiff.yml").read_text())
    for name in ("hlodiff", "hlodiff-comment"):
        assert jobs[name]["script"][0] == "python -m pip install -r requirements.txt"
    assert "is there already" in said("init", "--ci", "gitlab")[1]


def test_gitlab_where_a_pipeline_is_there(folder: Path, said: Ask) -> None:
    Path(".gitlab-ci.yml").write_text("stages: [test]\n")
    out = said("init", "--ci", "gitlab")[1]
    assert "in .gitlab-ci.yml: add the line include: [{local: .gitlab/hlodiff.yml}]\n" in out
    assert Path(".gitlab-ci.yml").read_text() == "stages: [test]\n"
    assert (
        yaml.safe_load(Path(".gitlab/hlodiff.yml").read_text())["hlodiff"]["script"][0]
        == "python -m pip install hlodiff"
    )


@pytest.mark.parametrize("action", ["x", "a/b", "a/b@", "a/b@v1\n    run: x", "a/b@${{ x }}"])
def test_an_address_that_is_none(folder: Path, said: Ask, action: str) -> None:
    code, _, err = said("init", "--ci", "github", "--action", action)
    assert (code, "is no address of an action" in err, list(folder.iterdir())) == (2, True, [])


def test_every_recipe_is_written_by_some_choice() -> None:
    named = [name for recipe in RECIPES.values() for name, _ in recipe]
    assert sorted(named) == sorted(path.name for path in HERE.glob("*.yml"))


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_shows_the_recipes_as_they_are_written() -> None:
    texts = [text for _, text in page_blocks()]
    for path in sorted(HERE.glob("*.yml")):
        install = "python -m pip install -e ." + (" hlodiff" if path.name == "gitlab.yml" else "")
        assert path.read_text().replace("INSTALL\n", f"{install}\n") in texts, path.name


def test_every_other_block_of_the_page_fits_the_action() -> None:
    action = read(ROOT / "action.yml")
    used = [one for value in YAML.values() for one in tables(value) if one.get("uses") == OURS]
    assert len(used) >= 6
    for one in used:
        assert set(one["with"]) <= set(action["inputs"])
    text = PAGE.read_text()
    shown = set(re.findall(r"steps\.hlodiff\.outputs\.([\w-]+)", text))
    assert shown == {"result"} <= set(action["outputs"])
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE) == list(action["inputs"])
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (repo,) = next(value["repos"] for value in YAML.values() if isinstance(value, dict) and "repos" in value)
    assert (repo["rev"], repo["hooks"]) == (f"v{__version__}", [{"id": hook["id"]}])


@pytest.mark.parametrize("name", [name for name in YAML if name.startswith("ci.md")])
def test_workflows_of_the_page_are_bounded_too(name: str) -> None:
    value = YAML[name]
    if isinstance(value, dict) and "jobs" in value:
        assert set(value["permissions"].values()) <= {"read", "write"}
        assert value["concurrency"]
        assert all(job["timeout-minutes"] <= 60 for job in value["jobs"].values())
