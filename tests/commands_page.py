"""docs/commands.md, made from the parser itself: `python -m tests.commands_page` writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from hlodiff.cli import GROUPS, program

PAGE = Path(__file__).parent.parent / "docs/commands.md"
_HEAD = """# Commands

Every command with its options, as `hlodiff COMMAND --help` prints them. This page is made from the parser by
`python -m tests.commands_page`, and a test keeps it up to date.

Exit codes: 0 unchanged; 1 something changed, is new or is no longer registered; 2 hlodiff could not decide; 130 and 143
interrupted. `diff` exits 0 whatever it finds, unless `--exit-code` is given.
"""


def _escaped(text: str) -> str:
    """Plain words as Markdown: what is in backticks stays, and no other character is markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith("\b"):
            lines = inspect.cleandoc(paragraph.removeprefix("\b").strip("\n"))
            yield f"```text\n{lines}\n```"
        else:
            yield _escaped(" ".join(paragraph.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [param.get_help_record(context) for param in command.params if isinstance(param, click.Option)]
    if shown := [record for record in records if record is not None]:
        yield "| option | |\n| --- | --- |"
        for names, words in shown:
            cell = re.sub(r"  +", " ", _escaped(words)).replace("|", r"\|")
            shown_names = names.replace("|", r"\|")
            yield f"| `{shown_names}` | {cell} |"


def _section(command: click.Command, path: str, level: int, context: click.Context) -> Iterator[str]:
    yield f"{'#' * level} {path}\n"
    yield "\n\n".join(_paragraphs(command.help or "")) + "\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _section(inner, f"{path} {name}", level + 1, click.Context(inner, context, name))
        return
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{path} {usage}\n```\n"
    if rows := list(_options(command, context)):
        yield "\n".join(rows) + "\n"
    if examples := re.findall(r"^  (hlodiff .*)$", command.epilog or "", re.MULTILINE):
        yield "```sh\n" + "\n".join(examples) + "\n```\n"


def page() -> str:
    """The page as it should be."""
    top = click.Context(program, info_name="hlodiff")
    parts = [_HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in names:
            command = program.get_command(top, name)
            assert command is not None
            parts += _section(command, f"hlodiff {name}", 3, click.Context(command, top, name))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
