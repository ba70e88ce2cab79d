"""Completion in bash, zsh and fish: names of functions and targets, and the script for each shell."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from hlodiff.errors import HlodiffError

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_HLODIFF_COMPLETE"


def complete_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Recorded functions and their cases. Imports nothing of the project: completion must be quick."""
    keys = [name for function, name, _ in _recorded(context) for name in (function, name)]
    return _matching(keys, incomplete)


def complete_targets(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Targets of the configuration and of the snapshots."""
    from hlodiff.workflows import load

    try:
        known = list(load(_project(context)).targets)
    except HlodiffError:
        return []
    return _matching([*known, *(target for _, _, target in _recorded(context))], incomplete)


def completion_script(shell: str, command: click.Command) -> tuple[Path, str, str]:
    """The completion script of a shell, and where the shell looks for it.

    Args:
        shell: one of `SHELLS`.
        command: the whole command line.

    Returns:
        the file, its content, and what the user still has to do.
    """
    made = get_completion_class(shell)
    assert made is not None  # click knows these three
    file = _script(shell)
    script = made(command, {}, "hlodiff", _VARIABLE).source()
    if shell == "zsh":
        return file, script, f"put `fpath=({file.parent} $fpath)` into ~/.zshrc above `compinit`, then open a new shell"
    needs = " (it needs the package bash-completion)" if shell == "bash" else ""
    return file, script, f"open a new shell{needs}"


def _script(shell: str) -> Path:
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    if shell == "bash":
        return data / "bash-completion/completions/hlodiff"
    if shell == "zsh":
        return data / "zsh/site-functions/_hlodiff"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "fish/completions/hlodiff.fish"


def _matching(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]


def _project(context: click.Context) -> Path:
    return Path(context.params.get("project") or ".")


def _recorded(context: click.Context) -> list[tuple[str, str, str]]:
    """Function, case and target of each snapshot."""
    from hlodiff.snapshots import FolderTree, list_snapshots
    from hlodiff.workflows import load

    try:
        keys = list_snapshots(FolderTree(load(_project(context)).snapshots)).keys
    except HlodiffError:
        return []
    return [(key.function, key.name, key.target) for key in keys]
