"""CI files written by `hlodiff init --ci`, made from the recipes beside this file."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hlodiff.capture.availability import installed_version
from hlodiff.config import Config, shown_path
from hlodiff.errors import HlodiffError, StoreError, UsageError
from hlodiff.snapshots import FolderTree, list_snapshots, read_summary
from hlodiff.snapshots.trees import git
from hlodiff.workflows.configuration import parse_toml

PACKAGES: dict[str, tuple[str, ...]] = {
    "tpu": ("libtpu",),
    "cuda": ("jax-cuda12-plugin", "jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12"),
}
"""Packages of each extra of hlodiff; an extra is a kind of target."""

UNKNOWN = "git+<ADDRESS>@<COMMIT>"
"""Placeholder for an unknown address; pip refuses it."""

_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_PATH = r"/*([\w.~-]+(?:/[\w.~-]+)*)/*"
_HTTPS = re.compile(rf"https://(?:[^/@\s]+@)?([\w.-]+(?::\d+)?)/{_PATH}", re.ASCII)
_SSH = re.compile(rf"(?:ssh://(?:[^/@\s]+@)?([\w.-]+)(?::\d+)?/|(?:[^/@\s]+@)?([\w.-]+):){_PATH}", re.ASCII)
_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)", re.ASCII)
_PINNED = re.compile(r"\s*+([A-Za-z0-9._-]++)\s*+(?:\[[^]]*\])?\s*+===?\s*+([^,;\s*]++)\s*+(?:;.*|#.*)?")
_OURS = re.compile(r"\s*hlodiff\s*(?:\[[^]]*\])?\s*([^A-Za-z0-9._-].*)?", re.IGNORECASE)
_MOST_SNAPSHOTS = 200  # enough snapshots of a large project


@dataclass(frozen=True, slots=True)
class Source:
    """A commit of a git repository that hlodiff can be installed from."""

    address: str
    commit: str

    @property
    def action(self) -> str:
        """The source as a GitHub action, `owner/hlodiff@commit`; "" if it is not on GitHub."""
        match = _GITHUB.fullmatch(self.address)
        return f"{match[1]}@{self.commit}" if match else ""

    @property
    def requirement(self) -> str:
        """The requirement that pip installs it from."""
        return f"git+{self.address}@{self.commit}"


def installed_from() -> Source | None:
    """Where this hlodiff was installed from, if others can install it from there.

    Returns:
        the commit that pip recorded; for a clone, the checked-out commit, if its remote has it too. Addresses contain
        no user names or passwords.
    """
    try:
        source = json.loads(distribution("hlodiff").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        source = {}
    commit = str((source.get("vcs_info") or {}).get("commit_id", ""))
    if commit:
        return _source(str(source.get("url", "")), commit)
    url = urlsplit(str(source.get("url", "")))
    folder = Path(unquote(url.path)) if url.scheme == "file" else Path(__file__).parents[2]
    if not (folder / ".git").exists():
        return None
    try:
        commit = git(folder, ["rev-parse", "HEAD"], "HEAD").decode().strip()
        if not git(folder, ["branch", "--remotes", "--contains", commit], "HEAD").strip():
            return None  # nobody else has it
        address = git(folder, ["remote", "get-url", "origin"], "origin").decode().strip()
    except (HlodiffError, UnicodeDecodeError):
        return None
    return _source(address, commit)


def _source(address: str, commit: str) -> Source | None:
    """Parse an address; `git@host:owner/hlodiff.git` and `https://user:token@host/owner/hlodiff` are equal."""
    match = _HTTPS.fullmatch(address) or _SSH.fullmatch(address)
    if not match or not _COMMIT.fullmatch(commit):
        return None
    *hosts, path = match.groups()
    host = next(filter(None, hosts))
    return (
        Source(f"https://{host}/{path.removesuffix('.git')}", commit)
        if "." in host and ".." not in path.split("/")
        else None
    )


def targets_of(config: Config) -> tuple[tuple[str, ...], str]:
    """Every target that a check of the project uses, and why some may be missing.

    Args:
        config: configuration of the project; its modules are imported.

    Returns:
        targets of the configuration, of functions with their own, and of snapshots; "" if all are known.
    """
    from hlodiff.capture import discover

    found = dict.fromkeys(config.targets)
    found |= dict.fromkeys(key.target for key in list_snapshots(FolderTree(config.snapshots)).keys)
    try:
        found |= dict.fromkeys(request.target for request in discover(config).requests())
    except HlodiffError as error:
        return tuple(found), error.headline
    return tuple(found), ""


def command(folder: Path, hlodiff: str, targets: Iterable[str], snapshots: Path | None) -> str:
    """The shell command that installs a project and hlodiff together, so that pip resolves them together.

    Args:
        folder: folder of the project.
        hlodiff: a folder or `git+ADDRESS@COMMIT`, quoted if the shell needs it.
        targets: the targets to compile for.
        snapshots: the folder whose recorded versions are installed; None for the versions of this environment.

    Returns:
        one line. A project whose requirements name an address of hlodiff keeps that address.
    """
    kinds = [kind for kind in PACKAGES if any(target.startswith(f"{kind}-") for target in targets)]
    extras = f"[{','.join(kinds)}]" if kinds else ""
    ours = shlex.quote(f"hlodiff{extras} @ {hlodiff}") if hlodiff.startswith("git+") else f'"{hlodiff}{extras}"'
    words = [] if any(rest.startswith("@") for rest in _named(folder)) else [ours]
    words += ["-c constraints.txt"] if (folder / "constraints.txt").is_file() else []
    words += ["-r requirements.txt"] if (folder / "requirements.txt").is_file() else []
    table = _pyproject(folder)
    words += ["-e ."] if "project" in table or "build-system" in table else []
    return " ".join(["python -m pip install", *words, *map(shlex.quote, _pins(folder, kinds, snapshots))])


def _named(folder: Path) -> Iterator[str]:
    """The text after the name hlodiff in each requirement of the project."""
    for line in _requirements(folder):
        if match := _OURS.fullmatch(line):
            yield (match[1] or "").strip()


def _pins(folder: Path, kinds: Iterable[str], snapshots: Path | None) -> Iterator[str]:
    """The packages that affect compilation, at the versions of the snapshots; pins of the project take precedence."""
    matches = [match for line in _requirements(folder) if (match := _PINNED.fullmatch(line))]
    pinned = {re.sub(r"[-_.]+", "-", match[1]).lower(): match[2] for match in matches}
    recorded = _recorded(snapshots) if snapshots else {}
    if "jax" not in pinned:
        pins = {name: pinned.get(name) or recorded.get(name) or installed_version(name) for name in ("jax", "jaxlib")}
        yield from (f"{name}=={number}" for name, number in pins.items() if number and name not in pinned)
    lib = next(filter(None, (table.get(n) for table in (pinned, recorded) for n in ("jaxlib", "jax"))), "")
    for package in (name for kind in kinds for name in PACKAGES[kind]):
        found = recorded.get(package) or installed_version(package)
        if package.startswith("jax-cuda"):  # both must have jaxlib's version
            found = lib or installed_version("jaxlib")
        yield f"{package}=={found}" if found and package not in pinned else package


def _recorded(snapshots: Path) -> dict[str, str]:
    """The versions that most snapshots were made with."""
    counts: dict[str, Counter[str]] = {}
    tree = FolderTree(snapshots)
    for key in list_snapshots(tree).keys[:_MOST_SNAPSHOTS]:
        try:
            toolchain = read_summary(tree, key).get("toolchain")
        except StoreError:
            continue
        if not isinstance(toolchain, Mapping):
            continue
        plugin, _, release = str(toolchain.get("plugin") or "").partition(" ")  # `libtpu 0.0.42`
        packages = *((name, toolchain.get(name)) for name in ("jax", "jaxlib")), (plugin, release)
        for name, number in packages:
            if isinstance(number, str) and re.fullmatch(r"[\w.!+-]+", number, re.ASCII):
                counts.setdefault(name, Counter())[number] += 1
    return {name: count.most_common(1)[0][0] for name, count in counts.items()}


def _requirements(folder: Path) -> Iterator[str]:
    """Requirements of the project: requirements.txt, constraints.txt and pyproject.toml."""
    for name in ("requirements.txt", "constraints.txt"):
        path = folder / name
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ()
    project = _pyproject(folder).get("project")
    listed = project.get("dependencies") if isinstance(project, Mapping) else None
    yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, str))


def _pyproject(folder: Path) -> dict[str, Any]:
    try:
        return parse_toml((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


RECIPES: dict[str, tuple[tuple[str, str], ...]] = {
    "github": (
        ("github-check.yml", ".github/workflows/hlodiff.yml"),
        ("github-comment.yml", ".github/workflows/hlodiff-comment.yml"),
    ),
    "github-upgrade": (("github-upgrade.yml", ".github/workflows/hlodiff-upgrade.yml"),),
    "gitlab": (("gitlab.yml", ".gitlab/hlodiff.yml"),),
}
"""Values of `--ci`: recipes and their paths in the repository."""

_HERE = Path(__file__).parent / "recipes"
# Nobody can own either name: GitHub and pip refuse them.
_ACTION_UNKNOWN = "<OWNER>/hlodiff@<COMMIT>"
_PLACEHOLDERS = {
    _ACTION_UNKNOWN: "the repository of hlodiff on GitHub and a commit of it",
    UNKNOWN: "the address of the git repository of hlodiff and a commit of it",
}
_ACTION = re.compile(r"[\w.-]+/[\w.-]+(/[\w.-]+)*@[\w./-]+", re.ASCII)
_WHERE = re.compile(r"^( +)# What installs", re.MULTILINE)
_INCLUDE = "include: [{local: .gitlab/hlodiff.yml}]"


@dataclass(frozen=True, slots=True)
class CiFiles:
    """The files to write, and notes on them."""

    files: tuple[tuple[Path, str], ...] = ()
    notes: tuple[str, ...] = ()


def ci_files(folder: Path, recipes: tuple[str, ...], action: str | None, config: Config | None) -> CiFiles:
    """The files of some recipes, adapted to a project.

    Args:
        folder: folder of the project.
        recipes: some of RECIPES.
        action: address of the GitHub action: `owner/project@ref`; None for where this hlodiff was installed from.
        config: configuration of the project; None if it is being created now.

    Returns:
        files with their texts, without files that already exist with the same text.

    Raises:
        UsageError: a file exists with another text, or the address is invalid.
    """
    if action is not None and not _ACTION.fullmatch(action):
        raise UsageError(f"`{action}` is not the address of an action", where="--action", hint="OWNER/REPO@COMMIT")
    top, below = _repository(folder.resolve())
    if below and "gitlab" in recipes:
        hint = "run it in the top folder, or copy the job and change into the project's folder"
        raise UsageError("the project is a folder of its repository", where="--ci gitlab", hint=hint)
    setting = _setting(folder, config, action)
    files, notes = [], list(setting.notes)
    open_: dict[str, list[str]] = {}
    for name, place in (pair for recipe in dict.fromkeys(recipes) for pair in RECIPES[recipe]):
        text = _fitted((_HERE / name).read_text(encoding="utf-8"), name, below, setting)
        path = top / place
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            hint = "move it away and compare afterwards"
            raise UsageError(
                "exists with other content; nothing is overwritten", where=str(shown_path(path)), hint=hint
            )
        if path.exists():
            notes.append(f"{shown_path(path)} is there already")
        else:
            files.append((path, text))
        for mark in _PLACEHOLDERS:
            if mark in text:
                open_.setdefault(mark, []).append(str(shown_path(path)))
    for mark, paths in open_.items():
        notes.append(f"in {' and '.join(paths)}: put {_PLACEHOLDERS[mark]} in place of {mark}")
    if "gitlab" in recipes:  # GitLab reads one top-level file, which includes ours; an existing one is kept
        first = top / ".gitlab-ci.yml"
        if not first.exists():
            files.append((first, _INCLUDE + "\n"))
        elif not first.is_file() or ".gitlab/hlodiff.yml" not in first.read_text(encoding="utf-8", errors="replace"):
            notes.append(f"in .gitlab-ci.yml: add the line {_INCLUDE}")
    return CiFiles(tuple(files), tuple(notes))


@dataclass(frozen=True, slots=True)
class _RecipeSetting:
    """Project settings in recipes: the action, hlodiff for pip, the commands, and unknown values."""

    action: str
    source: str
    github: str
    gitlab: str
    notes: tuple[str, ...]


def _setting(folder: Path, config: Config | None, action: str | None) -> _RecipeSetting:
    source = installed_from()
    requirement = source.requirement if source else UNKNOWN
    targets, problem = targets_of(config) if config else (("cpu",), "")
    notes = [f"targets that functions name themselves are not known: {problem}"] if problem else []
    if any(not rest.startswith("@") for rest in _named(folder)):  # pip then looks it up in the public index
        notes.append("requirements name hlodiff without its address: write `hlodiff @ git+ADDRESS@COMMIT`")
    snapshots = config.snapshots if config else None
    # The action is in a folder while its steps run.
    commands = [command(folder, one, targets, snapshots) for one in ("$GITHUB_ACTION_PATH", requirement)]
    return _RecipeSetting(
        action or (source.action if source else ""), requirement, commands[0], commands[1], tuple(notes)
    )


def _repository(folder: Path) -> tuple[Path, str]:
    """The top of the git repository, and the project's folder below it with `/`; "" if they are the same."""
    for top in (folder, *folder.parents):
        if (top / ".git").exists():
            below = folder.relative_to(top).as_posix()
            return top, "" if below == "." else below
    return folder, ""


def _fitted(recipe: str, name: str, below: str, setting: _RecipeSetting) -> str:
    is_gitlab = name.startswith("gitlab")
    text = recipe.replace("INSTALL", setting.gitlab if is_gitlab else setting.github)
    text = text.replace("HLODIFF_ALONE", shlex.quote(f"hlodiff @ {setting.source}"))
    pinned = (_HERE / "comment-requirements.txt").read_text(encoding="utf-8").splitlines()
    text = text.replace("COMMENT_REQUIREMENTS", "\n      ".join(map(shlex.quote, pinned)))
    if setting.action:
        text = text.replace(_ACTION_UNKNOWN, setting.action)
    if below:
        # JSON's quotes are valid YAML. When it comments, the action reads no file of the project.
        text = _WHERE.sub(lambda m: f"{m[1]}working-directory: {json.dumps(below)}\n{m[0]}", text)
    return text
