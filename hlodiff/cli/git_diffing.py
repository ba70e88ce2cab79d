"""The diff driver: what `git diff` shows in the place of the lines of a snapshot's file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hlodiff.cli.git_names import NamedFile, named_file
from hlodiff.cli.git_sides import GitSide, sides_of
from hlodiff.cli.output import color, width
from hlodiff.cli.trouble import foreseen
from hlodiff.config import load_if_any, process_environment
from hlodiff.diff.limits import DEFAULTS, Limits
from hlodiff.report.escape import printable
from hlodiff.report.numbers import many

_BOLD, _PLAIN = "\x1b[1m", "\x1b[m"
_ABBREVIATED = 9
_MOST_OPCODES = 8
_MOST_LINES = 200
_END = "\n"


@dataclass(frozen=True, slots=True)
class _Look:
    """How wide the window is, and whether git shows colours."""

    width: int
    color: bool


def external_diff(arguments: Sequence[str]) -> str:
    """What git asks its external diff for.

    Args:
        arguments: as git gives them: the path alone of a file that a merge has left in conflict, else both sides.

    Returns:
        text for the pager, in colours where git shows them.

    Example:
        >>> print(external_diff(["snapshots/f/cpu/summary.yaml"]), end="")
        * in conflict: snapshots/f/cpu/summary.yaml
          the snapshot is stale; once the code is merged: hlodiff update
    """
    if len(arguments) < 7:
        named = named_file(arguments[0])
        path = printable(arguments[0])
        return f"* in conflict: {path}\n  the snapshot is stale; once the code is merged: {named.again}\n"
    old, new = sides_of(arguments)
    look = _Look(width(), _git_shows_colors())
    head = list(_head(old, new, arguments[8] if len(arguments) > 8 else ""))
    titles = "".join(f"{_BOLD}{line}{_PLAIN}\n" if look.color else f"{line}\n" for line in head)
    if old.exists and new.exists and old.blob == new.blob:
        return titles
    try:
        return titles + _body(named_file(new.place), old, new, look)
    except Exception as error:
        known = foreseen(error)
        why = f"hlodiff cannot tell this as a report: {str(known).partition(_END)[0]}"
        told = "".join(f"{printable(line)}\n" for line in (why, *([f"hint: {known.hint}"] if known.hint else [])))
        return titles + told + _plain_diff(old, new)


def _head(old: GitSide, new: GitSide, renamed: str) -> Iterator[str]:
    """What git itself says of a file before its lines."""
    yield f"diff --git a/{printable(old.path)} b/{printable(new.path)}"
    if not old.exists:
        yield f"new file mode {new.mode}"
    elif not new.exists:
        yield f"deleted file mode {old.mode}"
    elif old.mode != new.mode:
        yield f"old mode {old.mode}"
        yield f"new mode {new.mode}"
    if renamed:
        yield from (printable(line) for line in renamed.splitlines() if line and not line.startswith("index "))
    if old.blob != new.blob:
        # With this line `git apply` refuses what was meant for eyes; without it, it would drop the file in silence.
        yield f"index {_short(old)}..{_short(new)}"


def _short(side: GitSide) -> str:
    return (side.blob if side.exists else "0" * _ABBREVIATED)[:_ABBREVIATED]


def _body(named: NamedFile, old: GitSide, new: GitSide, look: _Look) -> str:
    contents = old.content(), new.content()
    if contents[0] == contents[1]:
        return ""  # git knows no id of a file in the work tree: only its mode has changed
    if named.file.endswith(".yaml"):
        from hlodiff.cli.git_facts import facts_in_words

        return "".join(f"  {printable(line)}\n" for line in facts_in_words(named, *contents))
    return _report(named, (old, contents[0]), (new, contents[1]), look)


def _report(named: NamedFile, old: tuple[GitSide, bytes | None], new: tuple[GitSide, bytes | None], look: _Look) -> str:
    """The report of one program, as `hlodiff diff` writes it, without what sums up a whole run."""
    from hlodiff.diff import diff
    from hlodiff.diff.compared import Compared
    from hlodiff.diff.metrics import op_counts
    from hlodiff.report.record import Report
    from hlodiff.report.terminal import to_terminal

    before, after = (side.module(content) if content is not None else None for side, content in (old, new))
    only = after or before
    assert only is not None
    config = load_if_any(Path(named.path).parent)
    if before is None or after is None:
        return f"  {'new' if before is None else 'deleted'}: {printable(_counted(op_counts(only)))}\n"
    found = diff(before, after, limits=Limits(**dict(config.limits)) if config else DEFAULTS)
    if found.identical:
        return "  the same program, written in another way\n"
    compared = Compared(named.name, named.target or None, after.stage, "changed", found)
    report = Report("diff", "", "", (compared,), root=str(config.root) if config else "")
    return to_terminal(report, width=look.width, color=look.color, footer=False, legend=False)


def _counted(counts: Mapping[str, int]) -> str:
    """How many operations, and which ones most."""
    most = sorted(counts.items(), key=lambda item: -item[1])
    words = [f"{name} {count:,}" for name, count in most[:_MOST_OPCODES]]
    words += [f"{len(most) - _MOST_OPCODES} more kinds"] if len(most) > _MOST_OPCODES else []
    return f"{many(sum(counts.values()), 'operation')}: {', '.join(words)}"


def _git_shows_colors() -> bool:
    """Git's own settings and its pager decide; NO_COLOR turns ours off in any case."""
    if process_environment().get("NO_COLOR"):
        return False
    terminal = str(sys.stdout is not None and sys.stdout.isatty()).lower()
    try:
        asked = ["git", "config", "--get-colorbool", "color.diff", terminal]
        done = subprocess.run(asked, capture_output=True, check=False)
    except OSError:
        return color()
    return done.stdout.strip() == b"true"


def _plain_diff(old: GitSide, new: GitSide) -> str:
    """The lines that git would show without us, as far as anybody reads them, behind the head that stands there."""
    command = ["git", "--no-pager", "diff", "--no-index", "--no-ext-diff", "--no-textconv", "--color=never", "--"]
    done = subprocess.run([*command, str(old.file), str(new.file)], capture_output=True, check=False)
    text = done.stdout.decode("utf-8", "backslashreplace")
    if "@@ " not in text:
        return "binary files differ\n"
    lines = text[text.index("@@ ") :].splitlines()
    more = len(lines) - _MOST_LINES
    lines = [
        *lines[:_MOST_LINES],
        *([f"... {more:,} more lines: `git diff --no-ext-diff` shows them"] if more > 0 else []),
    ]
    return "".join(f"{printable(line)}\n" for line in lines)
