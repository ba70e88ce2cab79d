"""Files for a CI: what every workflow, action and recipe must and must not say, and `hlodiff init --ci`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hlodiff.integrations import ci_recipes
from tests.test_docs import blocks
from tests.workflows import EMBEDDED, ROOT, read

HERE = ROOT / "hlodiff/integrations/recipes"
PAGE = ROOT / "docs/ci.md"
WORKFLOWS = sorted(HERE.glob("github-*.yml"))
ALL = [ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml", *sorted(HERE.glob("*.yml"))]
# Tags: a hash of a commit cannot be looked up where this is made, and the page says how to pin one.
ACTIONS = (
    "actions/cache/restore@v4",
    "actions/cache/save@v4",
    "actions/checkout@v4",
    "actions/setup-python@v5",
    "actions/upload-artifact@v4",
    "github/codeql-action/upload-sarif@v3",
)
OURS = "<OWNER>/hlodiff@<COMMIT>"
ADDRESS = "git+<ADDRESS>@<COMMIT>"
PINS = "jax==0.10.2 jaxlib==0.10.2"
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
    assert not re.findall(r"https?://(?!github\.com/<OWNER>/)", text)


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
    assert seen["run"].startswith("hlodiff-comment/bin/python -I -m hlodiff comment ")
    assert seen["working-directory"] == "${{ runner.temp }}", "not where a pull request may have left files"


def test_no_recipe_interpolates_what_it_does_not_know() -> None:
    allowed = re.compile(
        r"(github\.(event\.(pull_request\.number|workflow_run\.(event|conclusion|head_branch|head_repository\.full_name))"
        r"|ref|server_url|repository|run_id|token|sha|event_name|ref_name|event\.repository\.default_branch)"
        r"|runner\.(temp|os)|inputs\.[\w-]+|steps\.\w+\.outputs\.[\w-]+"
        r"|!?cancelled\(\)|'[\w.]*'|==|!=|&&|\|\||\s)+"
    )
    for path in (ROOT / "action.yml", *WORKFLOWS):
        for expression in EMBEDDED.findall(path.read_text()):
            assert allowed.fullmatch(expression.strip()), (path.name, expression)


# --- init ------------------------------------------------------------------------------------------------------------

PINNED = (HERE / "comment-requirements.txt").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new folder, and an hlodiff of which nobody knows where it came from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ci_recipes, "installed_from", lambda: None)
    versions = {"jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": "0.0.42", "nvidia-cuda-nvcc-cu12": "12.9.86"}
    monkeypatch.setattr(ci_recipes, "installed_version", lambda package: versions.get(package, ""))
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
    assert check["jobs"]["check"]["steps"][2] == {
        "uses": "somebody/hlodiff@v9",
        "with": {
            "command": "check",
            "compile-cache": True,
            "install": f'python -m pip install "$GITHUB_ACTION_PATH" {PINS}',
        },
    }
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
            '          install: python -m pip install "$GITHUB_ACTION_PATH" -r requirements.txt -e .\n'
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
    assert ".github/workflows/hlodiff-comment.yml: exists with other content; nothing is overwritten" in err
    assert written() == {".github/workflows/hlodiff-comment.yml": "mine\n"}
    assert not Path("pyproject.toml").exists()


def test_where_nobody_knows_the_repository_of_hlodiff_it_says_so(folder: Path, said: Ask) -> None:
    out = said("init", "--ci", "github")[1]
    both = ".github/workflows/hlodiff.yml and .github/workflows/hlodiff-comment.yml"
    assert f"in {both}: put the repository of hlodiff on GitHub and a commit of it in place of {OURS}\n" in out
    assert OURS in written()[".github/workflows/hlodiff.yml"]


@pytest.mark.parametrize(
    ("url", "commit", "address"),
    [
        ("https://github.com/me/hlodiff.git", "a" * 40, "https://github.com/me/hlodiff"),
        ("https://me:secret@forge.example:8443/a/b/hlodiff", "a" * 40, "https://forge.example:8443/a/b/hlodiff"),
        ("git@forge.example:me/hlodiff.git", "a" * 40, "https://forge.example/me/hlodiff"),
        ("ssh://git@forge.example:22/me/hlodiff", "a" * 40, "https://forge.example/me/hlodiff"),
        ("https://github.com/me/hlodiff.git", "main", ""),
        ("https://github.com/me/hlodiff.git", "", ""),
        ("http://github.com/me/hlodiff", "a" * 40, ""),
        ("https://forge.example/me/$(x)", "a" * 40, ""),
        ("file:///home/me/hlodiff", "a" * 40, ""),
        ("/home/me/hlodiff", "a" * 40, ""),
        ("../my.folder/hlodiff", "a" * 40, ""),
    ],
)
def test_an_installation_from_git_pins_its_own_commit(
    url: str, commit: str, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Ask
) -> None:
    told: dict[str, Any] = {"url": url, "vcs_info": {"vcs": "git", "commit_id": commit}}
    installed(monkeypatch, told if commit else {"url": tmp_path.as_uri(), "dir_info": {}})
    monkeypatch.chdir(tmp_path)
    assert pinned(said) == (f"git+{address}@{commit}" if address else ADDRESS)


def pinned(said: Ask) -> str:
    """What the files for CI, written anew, install hlodiff from."""
    Path(".gitlab/hlodiff.yml").unlink(missing_ok=True)
    said("init", "--ci", "gitlab")
    jobs = yaml.safe_load(Path(".gitlab/hlodiff.yml").read_text())
    (found,) = {word for line in jobs["hlodiff-comment"]["script"] for word in re.findall(r"hlodiff @ ([^']*)'", line)}
    return str(found)


def installed(monkeypatch: pytest.MonkeyPatch, told: dict[str, Any]) -> None:
    """What pip has recorded of this installation."""

    class Installed:
        def read_text(self, name: str) -> str | None:
            return json.dumps(told)

    monkeypatch.setattr(ci_recipes, "distribution", lambda name: Installed())


def test_an_installation_from_a_clone_pins_a_commit_that_its_remote_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: Ask
) -> None:
    def git(folder: Path, *arguments: str) -> str:
        command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    there, clone = tmp_path / "there", tmp_path / "a clone"
    there.mkdir()
    git(there, "init", "-q")
    git(there, "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path, "clone", "-q", str(there), str(clone))
    git(clone, "remote", "set-url", "origin", "git@github.com:me/hlodiff.git")
    installed(monkeypatch, {"url": clone.as_uri(), "dir_info": {"editable": True}})
    monkeypatch.chdir(there)
    commit = git(clone, "rev-parse", "HEAD")
    assert pinned(said) == f"git+https://github.com/me/hlodiff@{commit}"
    said("init", "--ci", "github")
    assert f"me/hlodiff@{commit}" in {step["uses"] for step in _steps("hlodiff-comment.yml")}
    git(clone, "commit", "-q", "--allow-empty", "-m", "of this machine alone")
    assert pinned(said) == ADDRESS


def test_where_the_address_is_known_no_file_has_a_placeholder(
    folder: Path, said: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    commit = "a" * 40
    vcs = {"vcs": "git", "commit_id": commit}
    installed(monkeypatch, {"url": "https://github.com/me/hlodiff", "vcs_info": vcs})
    out = said("init", "--ci", "github", "--ci", "github-upgrade", "--ci", "gitlab")[1]
    assert "in place of" not in out
    for text in written().values():
        assert "<" not in re.sub(r"#.*|\S+@\S+>", "", text)
    assert {step["uses"] for step in _steps("hlodiff-comment.yml")} == {
        "actions/setup-python@v5",
        f"me/hlodiff@{commit}",
    }
    jobs = yaml.safe_load(Path(".gitlab/hlodiff.yml").read_text())
    assert jobs["hlodiff-comment"]["script"][-2].endswith(f" 'hlodiff @ git+https://github.com/me/hlodiff@{commit}'")


# --- what is installed -----------------------------------------------------------------------------------------------


def installs(said: Ask) -> tuple[str, str]:
    """The commands of the files that are written: for GitHub, for GitLab."""
    code, _, err = said("init", "--ci", "github", "--ci", "github-upgrade", "--ci", "gitlab")
    assert code == 0, err
    commands = {_steps(name)[2]["with"]["install"] for name in ("hlodiff.yml", "hlodiff-upgrade.yml")}
    (github,) = commands
    gitlab = yaml.safe_load(Path(".gitlab/hlodiff.yml").read_text())["hlodiff"]["script"][1]
    return github, gitlab


def configured(targets: str, project: str = "") -> None:
    text = f'{project}\n[tool.hlodiff]\nmodules = ["programs.py"]\ntargets = {targets}\n'
    Path("pyproject.toml").write_text(text)
    Path("programs.py").write_text("import hlodiff\n")


CUDA = "jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2 nvidia-cuda-nvcc-cu12==12.9.86"


@pytest.mark.parametrize(
    ("targets", "extras", "packages"),
    [
        ('["cpu"]', "", ""),
        ('["cpu", "tpu-v5e-2x2"]', "[tpu]", " libtpu==0.0.42"),
        ('["cuda-h100"]', "[cuda]", f" {CUDA}"),
        ('["cpu", "cuda-h100-x4", "tpu-v4-2x2x1"]', "[tpu,cuda]", f" libtpu==0.0.42 {CUDA}"),
    ],
)
def test_the_first_run_has_what_the_targets_need(
    folder: Path, said: Ask, targets: str, extras: str, packages: str
) -> None:
    configured(targets)
    assert installs(said) == (
        f'python -m pip install "$GITHUB_ACTION_PATH{extras}" {PINS}{packages}',
        f"python -m pip install 'hlodiff{extras} @ {ADDRESS}' {PINS}{packages}",
    )


def test_functions_that_name_their_own_targets_count_too(folder: Path, said: Ask) -> None:
    configured('["cpu"]')
    text = "def f():\n    return hlodiff.Case(abs, hlodiff.abstract((2,), 'float32'))\n"
    Path("programs.py").write_text(f"import hlodiff\n\n\n@hlodiff.register(targets=['cuda-h100'])\n{text}")
    assert installs(said)[0] == f'python -m pip install "$GITHUB_ACTION_PATH[cuda]" {PINS} {CUDA}'


def test_where_functions_cannot_be_listed_it_says_so(folder: Path, said: Ask) -> None:
    configured('["tpu-v5e-2x2"]')
    Path("programs.py").write_text("1 / 0\n")
    code, out, _ = said("init", "--ci", "github")
    assert (code, "targets that functions name themselves are not known: " in out) == (0, True)
    assert "[tpu]" in written()[".github/workflows/hlodiff.yml"]


def test_the_versions_of_the_snapshots_are_installed(folder: Path, said: Ask) -> None:
    configured('["cpu"]')
    for target, plugin in (("cpu", "null"), ("tpu-v5e-2x2", "libtpu 0.0.30"), ("cuda-h100", "jax-cuda12-pjrt 0.9.1")):
        Path("snapshots/f", target).mkdir(parents=True)
        toolchain = f"toolchain: {{jax: 0.9.1, jaxlib: 0.9.1, plugin: {plugin}}}"
        summary = f"format_version: 1\nfunction: f\ntarget: {target}\n{toolchain}\n"
        Path("snapshots/f", target, "summary.yaml").write_text(summary)
    assert installs(said)[0] == (
        'python -m pip install "$GITHUB_ACTION_PATH[tpu,cuda]" jax==0.9.1 jaxlib==0.9.1 libtpu==0.0.30'
        " jax-cuda12-plugin==0.9.1 jax-cuda12-pjrt==0.9.1 nvidia-cuda-nvcc-cu12==12.9.86"
    )


def test_what_the_project_pins_itself_goes_first(folder: Path, said: Ask) -> None:
    project = '[project]\nname = "x"\nversion = "1"\ndependencies = ["jax == 0.9.2", "numpy>=1"]'
    configured('["tpu-v5e-2x2", "cuda-h100"]', project)
    Path("constraints.txt").write_text("libtpu==0.0.33  # of jax 0.9.2\n")
    assert installs(said)[0] == (
        'python -m pip install "$GITHUB_ACTION_PATH[tpu,cuda]" -c constraints.txt -e . libtpu'
        " jax-cuda12-plugin==0.9.2 jax-cuda12-pjrt==0.9.2 nvidia-cuda-nvcc-cu12==12.9.86"
    )


def test_a_project_that_names_the_address_of_hlodiff_keeps_it(folder: Path, said: Ask) -> None:
    configured('["tpu-v5e-2x2"]')
    Path("requirements.txt").write_text(f"hlodiff @ git+https://forge.example/me/hlodiff@{'b' * 40}\n")
    assert set(installs(said)) == {f"python -m pip install -r requirements.txt {PINS} libtpu==0.0.42"}


def test_a_project_that_names_hlodiff_alone_is_told(folder: Path, said: Ask) -> None:
    configured('["cpu"]')
    Path("requirements.txt").write_text("hlodiff>=0.1\n")
    out = said("init", "--ci", "github")[1]
    assert "requirements name hlodiff without its address: write `hlodiff @ git+ADDRESS@COMMIT`\n" in out


def test_extras_are_those_of_the_package() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {kind: tuple(table[kind]) for kind in ("tpu", "cuda")} == ci_recipes.PACKAGES


def bare(text: str) -> list[str]:
    """Commands of pip that ask an index for hlodiff."""
    found = []
    for command in re.findall(r"pip3? install ([^\n`;)]*)", text):
        words = [word.strip("\"',") for word in command.split()]
        for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
            if re.fullmatch(r"hlodiff(\[.*\]?)?([=<>~!].*)?", word) and after != "@" and before not in ("-r", "-c"):
                found.append(command)
    return found


@pytest.mark.parametrize("folder_of", ["hlodiff", "docs", "README.md", "action.yml", ".pre-commit-hooks.yaml"])
def test_nobody_is_told_to_install_hlodiff_by_its_name(folder_of: str) -> None:
    """That name is nobody's yet in the public index: whoever takes it would run code beside every token."""
    top = ROOT / folder_of
    paths = [path for path in top.rglob("*") if path.suffix in (".py", ".md", ".yml")] if top.is_dir() else [top]
    assert {path.name: found for path in paths if (found := bare(path.read_text()))} == {}


def test_a_bare_name_would_be_found() -> None:
    for text in ("pip install hlodiff", "pip install -U hlodiff", "pip install 'hlodiff[tpu,cuda]'",
                 'pip install "hlodiff"', "pip install -e . hlodiff", "pip install --upgrade hlodiff"):  # fmt: skip
        assert bare(text), text
    for text in ("pip install ./hlodiff", "pip install 'hlodiff @ git+x'", "pip install -c hlodiff/constraints.txt x"):
        assert not bare(text), text


def test_a_project_below_the_top_of_its_repository(folder: Path, said: Ask) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    Path("packages/my ml").mkdir(parents=True)
    assert said("init", "packages/my ml", "--ci", "github", "--action", "a/hlodiff@v1")[0] == 0
    (check, *_) = [step for step in _steps("hlodiff.yml") if step["uses"] == "a/hlodiff@v1"]
    assert (check["with"]["command"], check["with"]["working-directory"]) == ("check", "packages/my ml")
    assert "working-directory" not in written()[".github/workflows/hlodiff-comment.yml"]
    code, _, err = said("init", "packages/my ml", "--ci", "gitlab")
    assert (code, "the project is a folder of its repository" in err) == (2, True)


def _steps(name: str) -> list[dict[str, Any]]:
    (job,) = read(Path(".github/workflows") / name)["jobs"].values()
    return list(job["steps"])


def test_gitlab(folder: Path, said: Ask) -> None:
    Path("requirements.txt").write_text("jax==0.10.2\n")
    out = said("init", "--ci", "gitlab")[1]
    put = f"put the address of the git repository of hlodiff and a commit of it in place of {ADDRESS}"
    assert out.endswith(
        f"wrote .gitlab/hlodiff.yml\nwrote .gitlab-ci.yml\nin .gitlab/hlodiff.yml: {put}\nnext: hlodiff update\n"
    )
    assert yaml.safe_load(Path(".gitlab-ci.yml").read_text()) == {"include": [{"local": ".gitlab/hlodiff.yml"}]}
    jobs = yaml.safe_load(Path(".gitlab/hlodiff.yml").read_text())
    assert jobs["hlodiff"]["script"][1] == f"python -m pip install 'hlodiff @ {ADDRESS}' -r requirements.txt"
    assert "is there already" in said("init", "--ci", "gitlab")[1]


def test_gitlab_where_a_pipeline_is_there(folder: Path, said: Ask) -> None:
    Path(".gitlab-ci.yml").write_text("stages: [test]\n")
    out = said("init", "--ci", "gitlab")[1]
    assert "in .gitlab-ci.yml: add the line include: [{local: .gitlab/hlodiff.yml}]\n" in out
    assert Path(".gitlab-ci.yml").read_text() == "stages: [test]\n"


def test_what_is_installed_beside_a_token_is_pinned_by_its_hash() -> None:
    for line in PINNED.splitlines():
        assert re.fullmatch(r"[a-z]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}", line), line
    (step,) = [one for one in read(ROOT / "action.yml")["runs"]["steps"] if one["name"] == "Install hlodiff"]
    beside = step["run"].partition('if [ "$COMMAND" = comment ]; then')[2].partition("elif")[0]
    installs = [line for line in beside.replace("\\\n", " ").splitlines() if "pip install" in line]
    assert len(installs) == 2 and all("--no-deps" in line for line in installs)
    assert "--require-hashes" in installs[0] and "--no-build-isolation" in installs[1]


def test_the_job_with_the_token_of_gitlab_runs_nothing_of_the_merge_request(folder: Path, said: Ask) -> None:
    for name, text in (("requirements.txt", "x\n"), ("setup.py", ""), ("constraints.txt", "y==1\n")):
        Path(name).write_text(text)
    said("init", "--ci", "gitlab")
    jobs = yaml.safe_load(Path(".gitlab/hlodiff.yml").read_text())
    job = jobs["hlodiff-comment"]
    assert "extends" not in job
    assert (job["variables"], job["cache"]) == ({"GIT_STRATEGY": "none"}, [])
    assert (job["inherit"], job["before_script"], job["after_script"]) == ({"default": False}, [], [])
    assert job["environment"] == {"name": "hlodiff-comment", "action": "access"}
    assert job["needs"] == [{"job": "hlodiff", "artifacts": True}]
    no_token, *commands = job["script"]
    assert "exit 0" in no_token
    assert commands == [
        'cd "$(mktemp -d)"',
        "python -I -m venv venv",
        f"printf '%s\\n' {shlex.join(PINNED.splitlines())} > requirements.txt",
        "venv/bin/python -I -m pip install --no-deps --require-hashes -r requirements.txt",
        f"venv/bin/python -I -m pip install --no-deps --no-build-isolation 'hlodiff @ {ADDRESS}'",
        'venv/bin/python -I -m hlodiff comment "$CI_PROJECT_DIR/hlodiff.json"',
    ]
    # A variable of the project reaches every job, unless it is limited to an environment: the first thing to find out.
    assert "environment" not in jobs["hlodiff"]
    assert jobs["hlodiff"]["script"][0].startswith('if [ -n "${HLODIFF_GITLAB_TOKEN:-}" ]; then')


@pytest.mark.parametrize("action", ["x", "a/b", "a/b@", "a/b@v1\n    run: x", "a/b@${{ x }}"])
def test_an_address_that_is_none(folder: Path, said: Ask, action: str) -> None:
    code, _, err = said("init", "--ci", "github", "--action", action)
    assert (code, "is not the address of an action" in err, list(folder.iterdir())) == (2, True, [])


def test_every_recipe_is_written_by_some_choice(folder: Path, said: Ask) -> None:
    choices = re.findall(r"[\w-]+", re.findall(r"--ci \[([^]]*)\]", " ".join(said("init", "--help")[1].split()))[0])
    said("init", *(word for choice in choices for word in ("--ci", choice)))
    begins = {text.splitlines()[0] for text in written().values()}
    assert begins >= {path.read_text().splitlines()[0] for path in HERE.glob("*.yml")}


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_shows_the_recipes_as_they_are_written() -> None:
    texts = [text for _, text in page_blocks()]
    for path in sorted(HERE.glob("*.yml")):
        source = f"'hlodiff[tpu] @ {ADDRESS}'" if path.name == "gitlab.yml" else '"$GITHUB_ACTION_PATH[tpu]"'
        text = path.read_text().replace("INSTALL\n", f"python -m pip install {source} -e . {PINS} libtpu==0.0.42\n")
        text = text.replace("COMMENT_REQUIREMENTS", "\n      ".join(map(shlex.quote, PINNED.splitlines())))
        assert text.replace("HLODIFF_ALONE", f"'hlodiff @ {ADDRESS}'") in texts, path.name


def test_every_other_block_of_the_page_fits_the_action() -> None:
    action = read(ROOT / "action.yml")
    used = [one for value in YAML.values() for one in tables(value) if one.get("uses") == OURS]
    assert len(used) >= 5
    for one in used:
        assert set(one["with"]) <= set(action["inputs"])
    text = PAGE.read_text()
    shown = set(re.findall(r"steps\.hlodiff\.outputs\.([\w-]+)", text))
    assert shown == {"result"} <= set(action["outputs"])
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE) == list(action["inputs"])
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (repo,) = next(value["repos"] for value in YAML.values() if isinstance(value, dict) and "repos" in value)
    assert (repo["rev"], repo["hooks"]) == ("<COMMIT>", [{"id": hook["id"]}])


@pytest.mark.parametrize("name", [name for name in YAML if name.startswith("ci.md")])
def test_workflows_of_the_page_are_bounded_too(name: str) -> None:
    value = YAML[name]
    if isinstance(value, dict) and "jobs" in value:
        assert set(value["permissions"].values()) <= {"read", "write"}
        assert value["concurrency"]
        assert all(job["timeout-minutes"] <= 60 for job in value["jobs"].values())
