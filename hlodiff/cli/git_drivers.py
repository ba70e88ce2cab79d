"""The drivers that `hlodiff git install` sets up: keys of git's configuration, their values, and whose a value is."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAMS, FACTS, SOURCES = "hlodiff", "hlodiff-facts", "hlodiff-source"
"""What .gitattributes calls the drivers: of programs, of the YAML files beside them, and of source.json."""
# The function's name is how a value is known as ours. Git runs values by its shell, with the arguments behind them.
_FUNCTION = "hlodiff_driver"
_OURS = re.compile(rf"{_FUNCTION}\(\) \{{ (?:p=(?P<python>'(?:[^']|'\"'\"')*'|[^\s';]+); |: source.json; )")
# Where our Python is gone, git must not stop in the middle of a diff: what it would show without us is shown.
_PLAIN_DIFF = '[ $# -lt 7 ] || git --no-pager diff --no-index --no-ext-diff --no-textconv -- "$2" "$5" || :'
_TELL = "echo 'hlodiff is not where it was any more: run hlodiff git install, or hlodiff git uninstall' >&2"
_PLAIN_TEXT = 'gzip -cdf "$1" 2>/dev/null || cat "$1"'
# Reports say what is in it, and nobody compares it: no line in `git diff`, one where `git log -p` shows a new file.
_SILENCE = f"{_FUNCTION}() {{ : source.json; }}; {_FUNCTION}"
_ONE_LINE = f"{_FUNCTION}() {{ : source.json; echo '(Python lines of the programs beside it)'; }}; {_FUNCTION}"


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the repository's configuration.

    Args:
        key: as in `git config KEY`.
        value: what we set it to.
        driver: which of "diff driver", "textconv" and "merge driver" it belongs to.
    """

    key: str
    value: str
    driver: str


def settings(python: str = sys.executable) -> tuple[Setting, ...]:
    """Everything that is set, in the order in which it is told.

    Args:
        python: the interpreter that has hlodiff; its full path, so that no PATH and no folder matters.

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
        Setting(f"diff.{PROGRAMS}.command", diff, "diff driver"),
        Setting(f"diff.{FACTS}.command", diff, "diff driver"),
        Setting(f"diff.{SOURCES}.command", _SILENCE, "diff driver"),
        Setting(f"diff.{PROGRAMS}.textconv", text, "textconv"),
        Setting(f"diff.{SOURCES}.textconv", _ONE_LINE, "textconv"),
        Setting(f"merge.{PROGRAMS}.name", "hlodiff: keep ours and mark the snapshot stale", "merge driver"),
        Setting(f"merge.{PROGRAMS}.driver", f"{merge} %O %A %B %P", "merge driver"),
        # Between two bases of a criss-cross merge nobody has to be told anything.
        Setting(f"merge.{PROGRAMS}.recursive", "binary", "merge driver"),
    )


def _function(python: str, command: str, arguments: str, otherwise: str) -> str:
    # One line for each file of `git diff`; `git log -p` has thousands, and shows what it would show without us.
    there = '[ -x "$p" ]' if command == "textconv" else f'{{ [ -x "$p" ] || {{ {_TELL}; false; }}; }}'
    # -P: a yaml.py at the top of a repository that is looked at is no module of ours.
    run = f'{there} && "$p" -P -m hlodiff git {command} {arguments}'
    return f"{_FUNCTION}() {{ p={shlex.quote(python)}; {run} || {otherwise}; }}; {_FUNCTION}"


def is_ours(setting: Setting, value: str) -> bool:
    """Whether a value is one that this or another version or place of hlodiff has set.

    Args:
        setting: the key.
        value: what stands there.

    Example:
        >>> is_ours(settings("/old/python")[0], settings("/new/python")[0].value)
        True
        >>> is_ours(settings()[0], "difft")
        False
    """
    return value == setting.value or bool(_OURS.match(value))


def python_of(value: str) -> str:
    """The interpreter in a value of ours; "" where none stands in it.

    Example:
        >>> python_of(settings("/a b/python")[0].value)
        '/a b/python'
    """
    found = _OURS.match(value)
    return shlex.split(found["python"])[0] if found and found["python"] else ""


def runs(python: str, folder: Path) -> bool:
    """Whether git can run hlodiff with an interpreter: it is there, and finds hlodiff without looking into folders.

    Args:
        python: its path.
        folder: where git would run it.
    """
    command = [python, "-P", "-m", "hlodiff", "--version"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=60, cwd=folder)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
