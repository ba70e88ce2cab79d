"""The files of a CI that `hlodiff init --ci` writes, made from the recipes beside this file."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from hlodiff.cli.output import near
from hlodiff.errors import UsageError

RECIPES: dict[str, tuple[tuple[str, str], ...]] = {
    "github": (
        ("github-check.yml", ".github/workflows/hlodiff.yml"),
        ("github-comment.yml", ".github/workflows/hlodiff-comment.yml"),
    ),
    "github-upgrade": (("github-upgrade.yml", ".github/workflows/hlodiff-upgrade.yml"),),
    "gitlab": (("gitlab.yml", ".gitlab/hlodiff.yml"),),
}
"""What `--ci` may name -> recipes and where they go in the repository."""

_HERE = Path(__file__).parent / "recipes"
_PLACEHOLDER = re.compile(r"\bOWNER/hlodiff@v[\w.]+")
_ACTION = re.compile(r"[\w.-]+/[\w.-]+(/[\w.-]+)*@[\w./-]+", re.ASCII)
_INSTALL = re.compile(r"^( *)(- |install: )INSTALL$", re.MULTILINE)
_WHERE = re.compile(r"^( +)# What installs", re.MULTILINE)
_GITHUB = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+?)(\.git)?/?", re.ASCII)
_INCLUDE = "include: [{local: .gitlab/hlodiff.yml}]"


@dataclass(frozen=True, slots=True)
class CiFiles:
    """What is to be written, and what is to be said of it."""

    files: tuple[tuple[Path, str], ...] = ()
    notes: tuple[str, ...] = ()


def ci_files(folder: Path, recipes: tuple[str, ...], action: str | None) -> CiFiles:
    """The files of some recipes, fitted to a project.

    Args:
        folder: of the project.
        recipes: some of RECIPES.
        action: where the GitHub action is: `owner/project@ref`; None for where this hlodiff was installed from.

    Returns:
        files with their texts; those that stand there word for word are not among them.

    Raises:
        UsageError: a file exists and says something else, or the address is none.
    """
    if action is not None and not _ACTION.fullmatch(action):
        raise UsageError(f"`{action}` is no address of an action", where="--action", hint="OWNER/REPO@TAG")
    top, below = _repository(folder.resolve())
    if below and "gitlab" in recipes:
        hint = "run it in the top folder, or copy the job and change into the project's folder"
        raise UsageError("the project is a folder of its repository", where="--ci gitlab", hint=hint)
    known = action or _origin()
    files, notes, open_ = [], [], []
    for name, place in (pair for recipe in dict.fromkeys(recipes) for pair in RECIPES[recipe]):
        text = _fitted((_HERE / name).read_text(encoding="utf-8"), _commands(folder, name), below, known)
        path = top / place
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            hint = "move it away and compare afterwards"
            raise UsageError("exists and says something else; nothing is overwritten", where=str(near(path)), hint=hint)
        if path.exists():
            notes.append(f"{near(path)} is there already")
        else:
            files.append((path, text))
        if "OWNER/" in text:
            open_.append(str(near(path)))
    if open_:
        notes.append(f"in {' and '.join(open_)}: put the account that has the repository of hlodiff in place of OWNER")
    if "gitlab" in recipes:
        taken = _including(top / ".gitlab-ci.yml")
        files += [taken] if taken else []
        if not taken and ".gitlab/hlodiff.yml" not in _text(top / ".gitlab-ci.yml"):
            notes.append(f"in .gitlab-ci.yml: add the line {_INCLUDE}")
    return CiFiles(tuple(files), tuple(notes))


def _including(path: Path) -> tuple[Path, str] | None:
    """GitLab reads one file at the top, which takes ours in; one that is there is its owner's."""
    return None if path.exists() else (path, _INCLUDE + "\n")


def _repository(folder: Path) -> tuple[Path, str]:
    """The top of the git repository, and the project's folder below it with `/`; "" where they are the same."""
    for top in (folder, *folder.parents):
        if (top / ".git").exists():
            below = folder.relative_to(top).as_posix()
            return top, "" if below == "." else below
    return folder, ""


def _fitted(recipe: str, install: str, below: str, action: str) -> str:
    def installing(match: re.Match[str]) -> str:
        return f"{match[1]}{match[2]}{install}" if install else f"{match[1]}# {match[2]}python -m pip install -e ."

    text = _INSTALL.sub(installing, recipe)
    if action:
        text = _PLACEHOLDER.sub(lambda _: action, text)
    if below:
        # JSON's quotes are YAML's too. Where it comments, the action looks at no file of the project.
        text = _WHERE.sub(lambda m: f"{m[1]}working-directory: {json.dumps(below)}\n{m[0]}", text)
    return text


def _commands(folder: Path, recipe: str) -> str:
    """What installs the project, as far as its files tell; "" where they do not."""
    words = []
    if (folder / "requirements.txt").is_file():
        words.append("-r requirements.txt")
    try:
        table = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        table = {}
    if "project" in table or "build-system" in table:
        words.append("-e .")
    if recipe.startswith("gitlab"):
        # A GitHub action brings hlodiff along; here it is installed like the rest.
        named = "hlodiff" in _text(folder / "requirements.txt") or "hlodiff" in str(table.get("project"))
        words += [] if words and named else ["hlodiff"]
    return f"python -m pip install {' '.join(words)}" if words else ""


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _origin() -> str:
    """The repository on GitHub that this hlodiff was installed from, with its commit; "" where it was another place."""
    try:
        told = json.loads(distribution("hlodiff").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    commit = (told.get("vcs_info") or {}).get("commit_id", "")
    match = _GITHUB.fullmatch(str(told.get("url", "")))
    return f"{match[1]}/{match[2]}@{commit}" if match and re.fullmatch(r"[0-9a-f]{40}", str(commit)) else ""
