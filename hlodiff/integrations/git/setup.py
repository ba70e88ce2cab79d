"""`hlodiff git install` and `uninstall`: write the settings, and restore them byte for byte."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hlodiff.config import Config, shown_path
from hlodiff.errors import StoreError, UsageError
from hlodiff.report.wording import format_command, format_names, many
from hlodiff.snapshots import PYTEST, FolderTree, is_stale, list_growth, list_snapshots, stale_of
from hlodiff.snapshots.paths import write_project_file
from hlodiff.snapshots.records import TRACES, growth_path, scenarios_of
from hlodiff.snapshots.trees import git

PROGRAMS, FACTS, SOURCES = "hlodiff", "hlodiff-facts", "hlodiff-source"
"""Names of the drivers in .gitattributes: for programs, for the YAML files beside them, and for source.json."""
# The function's name identifies our values. Git runs values in its shell, with the arguments appended.
_FUNCTION = "hlodiff_driver"
_OURS = re.compile(rf"{_FUNCTION}\(\) \{{ (?:p=(?P<python>'(?:[^']|'\"'\"')*'|[^\s';]+); |: source.json; )")
# If our Python no longer exists, git must not stop in the middle of a diff: show what it would show without the driver.
_PLAIN_DIFF = '[ $# -lt 7 ] || git --no-pager diff --no-index --no-ext-diff --no-textconv -- "$2" "$5" || :'
_TELL = "echo 'hlodiff is not where it was any more: run hlodiff git install, or hlodiff git uninstall' >&2"
_PLAIN_TEXT = 'gzip -cdf "$1" 2>/dev/null || cat "$1"'
# Reports show its content, and nobody compares it: no line in `git diff`, one line if `git log -p` shows a new file.
_SILENCE = f"{_FUNCTION}() {{ : source.json; }}; {_FUNCTION}"
_ONE_LINE = f"{_FUNCTION}() {{ : source.json; echo '(Python lines of the programs beside it)'; }}; {_FUNCTION}"


@dataclass(frozen=True, slots=True)
class GitSetting:
    """One key of the repository's configuration.

    Args:
        key: as in `git config KEY`.
        value: the value that we set.
        driver: the driver that it belongs to: "diff driver", "textconv" or "merge driver".
    """

    key: str
    value: str
    driver: str


def settings(python: str = sys.executable) -> tuple[GitSetting, ...]:
    """All settings, in the order in which they are reported.

    Args:
        python: the interpreter with hlodiff; its full path, so that neither PATH nor the current folder matters.

    Returns:
        keys and values.

    Example:
        >>> [one.key for one in settings("/usr/bin/python3")][:2]
        ['diff.hlodiff.command', 'diff.hlodiff-facts.command']
    """
    diff = _function(python, "diff-driver", '"$@"', _PLAIN_DIFF)
    text = _function(python, "textconv", '"$1" 2>/dev/null', _PLAIN_TEXT)
    merge = _function(python, "merge-driver", '"$@"', "exit 1")
    return (
        GitSetting(f"diff.{PROGRAMS}.command", diff, "diff driver"),
        GitSetting(f"diff.{FACTS}.command", diff, "diff driver"),
        GitSetting(f"diff.{SOURCES}.command", _SILENCE, "diff driver"),
        GitSetting(f"diff.{PROGRAMS}.textconv", text, "textconv"),
        GitSetting(f"diff.{SOURCES}.textconv", _ONE_LINE, "textconv"),
        GitSetting(f"merge.{PROGRAMS}.name", "hlodiff: keep ours and mark the snapshot stale", "merge driver"),
        GitSetting(f"merge.{PROGRAMS}.driver", f"{merge} %O %A %B %P", "merge driver"),
        # Nothing needs to be reported between two bases of a criss-cross merge.
        GitSetting(f"merge.{PROGRAMS}.recursive", "binary", "merge driver"),
    )


def _function(python: str, command: str, arguments: str, otherwise: str) -> str:
    # One line per file of `git diff`; `git log -p` has thousands, and shows what it would show without the driver.
    there = '[ -x "$p" ]' if command == "textconv" else f'{{ [ -x "$p" ] || {{ {_TELL}; false; }}; }}'
    # -P: a yaml.py at the top of the repository must not be imported.
    run = f'{there} && "$p" -P -m hlodiff git {command} {arguments}'
    return f"{_FUNCTION}() {{ p={shlex.quote(python)}; {run} || {otherwise}; }}; {_FUNCTION}"


def is_ours(setting: GitSetting, value: str) -> bool:
    """Whether a value was set by this or another version or installation of hlodiff.

    Args:
        setting: the key.
        value: the current value.

    Example:
        >>> is_ours(settings("/old/python")[0], settings("/new/python")[0].value)
        True
        >>> is_ours(settings()[0], "difft")
        False
    """
    return value == setting.value or bool(_OURS.match(value))


def python_of(value: str) -> str:
    """The interpreter in one of our values; "" if it contains none.

    Example:
        >>> python_of(settings("/a b/python")[0].value)
        '/a b/python'
    """
    found = _OURS.match(value)
    return shlex.split(found["python"])[0] if found and found["python"] else ""


def runs(python: str, folder: Path) -> bool:
    """Whether git can run hlodiff with an interpreter: it exists, and finds hlodiff without searching the current
    folder.

    Args:
        python: path of the interpreter.
        folder: the folder that git would run it in.
    """
    command = [python, "-P", "-m", "hlodiff", "--version"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=60, cwd=folder)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


_BEGIN = "# hlodiff git install: begin (`hlodiff git uninstall` takes these lines out)"
_END = "# hlodiff git install: end"
_BLOCK = re.compile(
    r"^# hlodiff git install: begin[^\n]*\n(?:[^\n]*\n)*?# hlodiff git install: end\r?(?:\n|\Z)", re.MULTILINE
)
_PACKED = f"-text diff={PROGRAMS} merge={PROGRAMS} linguist-generated"
_TEXT = f"text eol=lf diff={PROGRAMS} merge={PROGRAMS} linguist-generated"
_FACTS = f"text eol=lf diff={FACTS} merge={PROGRAMS}"
# Reviewers read programs as a report and the YAML files as they are: those stay expanded on a pull request's page.
_ROWS = (
    ("*.hlo", _TEXT),
    ("*.mlir", _TEXT),
    ("*.hlo.gz", _PACKED),
    ("*.mlir.gz", _PACKED),
    ("source.json", f"text eol=lf -diff merge={PROGRAMS} linguist-generated"),
    ("summary.yaml", _FACTS),
    ("traces.yaml", _FACTS),
    ("growth.yaml", _FACTS),
)
PROBES = {
    "f/cpu/compiled.hlo": PROGRAMS, "f/cpu/stablehlo.mlir": PROGRAMS, "f/cpu/compiled.hlo.gz": PROGRAMS,
    "f/cpu/stablehlo.mlir.gz": PROGRAMS, "f/cpu/source.json": SOURCES, "f/cpu/summary.yaml": FACTS,
    "f/traces.yaml": FACTS, "f/growth.yaml": FACTS,
}  # fmt: skip
"""Sample files of a snapshots folder whose attributes git is asked for, and their diff drivers."""


def rows(below: str) -> tuple[str, ...]:
    """Our lines for .gitattributes.

    Args:
        below: the snapshots folder below the folder of .gitattributes; "" if it is that folder.

    Returns:
        one line per kind of file, without line ends.

    Example:
        >>> rows("snapshots")[0]
        'snapshots/**/*.hlo text eol=lf diff=hlodiff merge=hlodiff linguist-generated'
        >>> rows("my [old] snapshots")[5]
        '"my \\\\\\\\[old] snapshots/**/summary.yaml" text eol=lf diff=hlodiff-facts merge=hlodiff'
    """
    return tuple(f"{_pattern(below, name)} {attributes}" for name, attributes in _ROWS)


def own_row(below: str) -> str:
    """The line for this clone only: without a driver, git only reports that source.json differs, not its one long line.

    Args:
        below: the snapshots folder below the top of the work tree.

    Example:
        >>> own_row("snapshots")
        'snapshots/**/source.json diff=hlodiff-source'
    """
    return f"{_pattern(below, 'source.json')} diff={SOURCES}"


def with_row(text: str, row: str) -> str:
    """The text of .git/info/attributes with our line at its end.

    Example:
        >>> with_row("*.png binary", "a b")
        '*.png binary\\na b'
    """
    return f"{text}\n{row}" if text and not text.endswith("\n") else f"{text}{row}\n"


def without_row(text: str, row: str) -> str:
    """Undo `with_row`.

    Example:
        >>> without_row(with_row("*.png binary", "a b"), "a b")
        '*.png binary'
    """
    if text.endswith(f"\n{row}"):
        return text.removesuffix(f"\n{row}")
    return "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") != row)


def _pattern(below: str, name: str) -> str:
    if not below:
        return name
    # Wildcards and leading comment characters in names are taken literally.
    folder = re.sub(r"([\\*?\[])", r"\\\1", below)
    folder = f"/{folder}" if folder[0] in '#!"' else folder
    pattern = f"{folder}/**/{name}"
    if re.search(r"[\s\"]", pattern):
        escaped = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
        return f'"{escaped}"'
    return pattern


def with_block(text: str, below: str) -> str:
    """The text of .gitattributes with our lines up to date: in place, or at its end.

    Args:
        text: current text; "" if there is no file.
        below: see `rows`.

    Example:
        >>> with_block("*.png binary", "snapshots").split("\\n")[1]
        '# hlodiff git install: begin (`hlodiff git uninstall` takes these lines out)'
    """
    end = "\r\n" if "\r\n" in text else "\n"
    block = end.join([_BEGIN, *rows(below), _END])
    found = _BLOCK.search(text)
    if found:
        last = end if found.group().endswith("\n") else ""
        return text[: found.start()] + block + last + text[found.end() :]
    if text and not text.endswith("\n"):
        return text + end + block  # the last line had no newline, which `without_block` restores
    return text + block + end


def without_block(text: str) -> str:
    """The text of .gitattributes without our lines.

    Args:
        text: the text, with or without our lines.

    Example:
        >>> without_block(with_block("*.png binary", "snapshots"))
        '*.png binary'
    """
    while found := _BLOCK.search(text):  # a merge may have left several
        before, after = text[: found.start()], text[found.end() :]
        if not found.group().endswith("\n"):
            before = before.removesuffix("\n").removesuffix("\r")
        text = before + after
    return text


def block_of(text: str) -> tuple[str, ...] | None:
    """Our current lines; None if there are none.

    Args:
        text: text of .gitattributes.
    """
    found = _BLOCK.search(text)
    return tuple(found.group().splitlines()[1:-1]) if found else None


def install(repository: Repository) -> Iterator[str]:
    """Set up the drivers in this clone, and add our lines to .gitattributes.

    Args:
        repository: the repository.

    Returns:
        the actions taken, one line each; nothing if everything was set up already.

    Raises:
        UsageError: a key has a value set by somebody else, git could not run hlodiff, or a file cannot be written.
            Nothing is written then.
    """
    before = read_attributes(repository.attributes)
    changes = [one for one in settings() if repository.values(one.key) != (one.value,)]
    for one in changes:
        foreign = [value for value in repository.values(one.key) if not is_ours(one, value)]
        if foreign:
            what = f"is set to something of your own already: {foreign[0][:80]}"
            hint = f"git config --unset-all {one.key}, if that may go; then `hlodiff git install` again"
            raise UsageError(what, where=f"git configuration, {one.key}", hint=hint)
    if changes and not runs(sys.executable, repository.top):
        what = "finds hlodiff only from some folders, and git runs it from others"
        raise UsageError(what, where=sys.executable, hint="install it there: `pip install -e .` in a clone of hlodiff")
    after = with_block(before, repository.below)
    if after != before:
        write_project_file(repository.attributes, after)
        verb = "rewrote" if block_of(before) is not None else "added"
        yield f"{verb} {len(block_of(after) or ())} lines in {shown_path(repository.attributes)}"
    path, row = repository.own_attributes, own_row(repository.below_top)
    text = read_attributes(path)
    if row not in text.splitlines():
        write_project_file(path, with_row(text, row))
        yield f"added 1 line in {shown_path(path)}"
    for one in changes:
        repository.set(one.key, one.value)
    if changes:
        drivers = ", ".join(dict.fromkeys(one.driver for one in changes))
        yield f"set up in this clone's git configuration: {drivers}"


def uninstall(repository: Repository) -> Iterator[str]:
    """Undo `install`; settings made by others are kept.

    Args:
        repository: the repository.

    Returns:
        the actions taken, one line each; nothing if nothing was installed.

    Raises:
        UsageError: a file cannot be written.
    """
    before = read_attributes(repository.attributes)
    after = without_block(before)
    if after != before:
        if after:
            write_project_file(repository.attributes, after)
            yield f"took our lines out of {shown_path(repository.attributes)}{_for_all(repository)}"
        else:
            repository.attributes.unlink()
            yield f"deleted {shown_path(repository.attributes)}, which held nothing else{_for_all(repository)}"
    own = repository.own_attributes
    text = read_attributes(own)
    rest = without_row(text, own_row(repository.below_top))
    if rest != text:
        if rest:
            write_project_file(own, rest)
        else:
            own.unlink()
        yield f"took our line out of {shown_path(own)}"
    mine = [one for one in settings() if any(is_ours(one, value) for value in repository.values(one.key))]
    for one in mine:
        foreign = [value for value in repository.values(one.key) if not is_ours(one, value)]
        if not foreign:
            repository.unset(one.key)
    if mine:
        drivers = ", ".join(dict.fromkeys(one.driver for one in mine))
        yield f"took out of this clone's git configuration: {drivers}"


def _for_all(repository: Repository) -> str:
    """The report if the lines are committed."""
    is_committed = repository.ask(["ls-files", "-z", "--", str(repository.attributes)])
    return "; committed, that takes them from everybody" if is_committed else ""


def read_attributes(path: Path) -> str:
    """The text of a .gitattributes; "" if there is none. Bytes that are not text are preserved.

    Raises:
        UsageError: it is a link, which git does not follow either, or cannot be read.
    """
    if path.is_symlink():
        raise UsageError("is a link, and git reads no attributes through links", where=str(shown_path(path)))
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(shown_path(path))) from None


State = Literal["installed", "missing", "stale", "overridden"]
_INSTALL = "hlodiff git install"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the setup.

    Args:
        name: "diff driver", "textconv", "merge driver", "attributes", "snapshots".
        state: "stale" no longer works as intended; "overridden" by lines or values set by others.
        what: details; "" if the state is sufficient.
        next: the command that repairs it; "" if it is fine.
    """

    name: str
    state: State | Literal["ok"]
    what: str = ""
    next: str = ""

    @property
    def is_well(self) -> bool:
        """Whether nothing needs to be done about it."""
        return self.state in ("installed", "ok")


def status(repository: Repository) -> tuple[Part, ...]:
    """Check everything that `hlodiff git install` sets up, and leftovers of merges in the snapshots.

    Args:
        repository: the repository.

    Returns:
        one record per part.
    """
    return (*_drivers(repository), _attributes(repository), _snapshots(repository))


def _drivers(repository: Repository) -> Iterator[Part]:
    everything = settings()
    works: dict[str, bool] = {}
    for driver in dict.fromkeys(one.driver for one in everything):
        mine = [(one, repository.values(one.key)) for one in everything if one.driver == driver]
        foreign = [one.key for one, values in mine if values and not is_ours(one, values[-1])]
        pythons = dict.fromkeys(python for one, values in mine for value in values if (python := python_of(value)))
        for python in pythons:
            works.setdefault(python, runs(python, repository.top))
        removed = [python for python in pythons if not works[python]]
        current = settings(next(iter(pythons), sys.executable))
        as_set = {one.key: one.value for one in current}
        if foreign:
            hint = f"git config --unset-all {foreign[0]}"
            yield Part(driver, "overridden", f"{foreign[0]} holds something of your own", hint)
        elif not all(values for _, values in mine):
            yield Part(driver, "missing", "", _INSTALL)
        elif removed:
            yield Part(driver, "stale", f"{removed[0]} is gone, or has no hlodiff any more", _INSTALL)
        elif any(values != (as_set[one.key],) for one, values in mine):
            yield Part(driver, "stale", "another version of hlodiff has set it", _INSTALL)
        else:
            other = next((python for python in pythons if python != sys.executable), "")
            yield Part(driver, "installed", f"runs {other}" if other else "")


def _attributes(repository: Repository) -> Part:
    name, file = "attributes", shown_path(repository.attributes)
    block = block_of(read_attributes(repository.attributes))
    if block is None:
        return Part(name, "missing", f"not in {file}", _INSTALL)
    if block != rows(repository.below):
        what = f"{file} has lines of another version of hlodiff or for another folder"
        return Part(name, "stale", what, _INSTALL)
    own = repository.own_attributes
    if own_row(repository.below_top) not in read_attributes(own).splitlines():
        return Part(name, "missing", f"source.json is not in {shown_path(own)}", _INSTALL)
    others = list(_overridden(repository))
    if others:
        return Part(name, "overridden", f"other lines decide about {others[0]}", f"git check-attr --all {others[0]}")
    committed = repository.ask(["status", "--porcelain", "--", str(repository.attributes)]).strip()
    return Part(name, "installed", f"in {file}" + (", not committed yet" if committed else ""))


def _overridden(repository: Repository) -> Iterator[str]:
    """Files for which git reports other attributes than our lines set."""
    top = os.path.realpath(repository.top)
    below = repository.snapshots.relative_to(top).as_posix()
    drivers = {f"{below}/{path}" if below != "." else path: driver for path, driver in PROBES.items()}
    attributes = [
        os.fsdecode(word) for word in repository.ask(["check-attr", "-z", "diff", "merge", "--", *drivers]).split(b"\0")
    ]
    for path, kind, value in zip(attributes[0::3], attributes[1::3], attributes[2::3], strict=False):
        if value != (PROGRAMS if kind == "merge" else drivers[path]):
            yield path


def _snapshots(repository: Repository) -> Part:
    tree = FolderTree(repository.snapshots)
    files = tree.files()
    found = [key.name for key in stale_of(tree, list_snapshots(tree).keys)]
    found += [name for name in scenarios_of(files) if is_stale(tree, [f"{name}/{TRACES}"])]
    for function, case in list_growth(repository.snapshots):
        if is_stale(tree, [growth_path(function, case)]):
            found.append(f"{function}/{case}" if case else function)
    own = list(dict.fromkeys(found))
    of_tests = FolderTree(repository.snapshots / PYTEST)
    tests = dict.fromkeys(f"{PYTEST}/{key.name}" for key in stale_of(of_tests, list_snapshots(of_tests).keys))
    names = [*own, *tests]
    if not names:
        return Part("snapshots", "ok", "none is stale")
    commands = [
        *([format_command("hlodiff update", own)] if own else []),
        *(["pytest --hlodiff-update"] if tests else []),
    ]
    what = f"{many(len(names), 'name')} since a merge: {format_names(names, 5)}"
    return Part("snapshots", "stale", what, " && ".join(commands))


# --- The git repository of a project: its top, its own configuration, attributes.


@dataclass(frozen=True, slots=True)
class Repository:
    """A git work tree that contains a project.

    Args:
        top: the top folder of the work tree.
        root: the project's folder.
        snapshots: its snapshots folder, with links resolved.
    """

    top: Path
    root: Path
    snapshots: Path

    @property
    def attributes(self) -> Path:
        """The .gitattributes with our lines: the project's, or that of the snapshots if they are outside it."""
        root = Path(os.path.realpath(self.root))
        return (self.root if self.snapshots.is_relative_to(root) else self.snapshots) / ".gitattributes"

    @property
    def below(self) -> str:
        """The snapshots folder relative to that file's folder, with `/`; "" if it is that folder."""
        root = Path(os.path.realpath(self.attributes.parent))
        relative = self.snapshots.relative_to(root).as_posix()
        return "" if relative == "." else relative

    @property
    def own_attributes(self) -> Path:
        """The attributes of this clone and its worktrees, which are not shared."""
        path = os.fsdecode(self.ask(["rev-parse", "--git-path", "info/attributes"])).rstrip("\n")
        return Path(os.path.realpath((self.top / path).parent), "attributes")  # git's directory is the user's own

    @property
    def below_top(self) -> str:
        """The snapshots folder relative to the top of the work tree, with `/`; "" if it is that folder."""
        relative = self.snapshots.relative_to(os.path.realpath(self.top)).as_posix()
        return "" if relative == "." else relative

    def values(self, key: str) -> tuple[str, ...]:
        """Values of a key in the repository's own configuration, not the user's or the system's."""
        found = self.ask(["config", "--local", "-z", "--get-all", key], accept=(0, 1))
        return tuple(os.fsdecode(value) for value in found.split(b"\0")[:-1])

    def set(self, key: str, value: str) -> None:
        """Set a key of the repository's own configuration."""
        self.ask(["config", "--local", "--replace-all", key, value])

    def unset(self, key: str) -> None:
        """Remove a key from the repository's own configuration, and its section if that becomes empty."""
        self.ask(["config", "--local", "--unset-all", key], accept=(0, 5))

    def ask(self, arguments: Sequence[str], accept: Sequence[int] = (0,)) -> bytes:
        """Run one git command at the top of the work tree."""
        return git(self.top, arguments, "git", accept=accept)


def repository_of(config: Config) -> Repository:
    """The repository that a project is in.

    Args:
        config: the project's.

    Returns:
        its work tree; for a linked worktree or a submodule, its own one.

    Raises:
        UsageError: there is no git, no repository, no work tree, or the snapshots are outside it.
    """
    try:
        top = Path(os.fsdecode(git(config.root, ["rev-parse", "--show-toplevel"], "")).rstrip("\n"))
    except StoreError as error:
        raise _no_repository(error, config.root) from None
    snapshots = Path(os.path.realpath(config.snapshots))
    if not snapshots.is_relative_to(os.path.realpath(top)):
        raise UsageError("the snapshots folder is outside this git repository", where=str(config.snapshots))
    return Repository(top, config.root, snapshots)


def _no_repository(error: StoreError, root: Path) -> UsageError:
    if "not a git repository" in error.what:
        return UsageError("this is not a git repository", where=str(root), hint="git init")
    if "work tree" in error.what or "cannot use bare repository" in error.what:
        hint = "run it where the files are checked out: drivers are set up for a clone, not for a server"
        return UsageError("this git repository has no work tree here", where=str(root), hint=hint)
    if "git is not installed" in error.what:
        return UsageError("git is not installed", hint="install git")
    return UsageError(f"git says: {error.what}", where=str(root))
