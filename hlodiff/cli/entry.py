"""The `hlodiff` command: its subcommands, and how errors are printed."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

from hlodiff import __version__
from hlodiff.cli.progress_bar import progress_bar
from hlodiff.errors import ConfigError, HlodiffError, RegistryError, UsageError, expected_error, one_line

# Subcommands are imported when they are used: `--help` must be quick, and `diff` must not import JAX.
GROUPS = {
    "Daily": {
        "init": "Set a project up: configuration, a first function, CI, completion.",
        "list": "Show registered functions and whether they have snapshots.",
        "check": "Compile registered functions and compare with the snapshots.",
        "review": "Walk through what check found: accept, reject or skip each.",
        "accept": "Record what check captured, by name, id, pattern or class.",
        "update": "Compile registered functions and record what changed.",
        "diff": "Compare two files, folders or git revisions.",
        "show": "Show what a recorded program is made of, or its text.",
    },
    "History": {
        "log": "Show a program's numbers over commits, and who changed one.",
        "upgrade": "Show what another jax would compile functions to.",
    },
    "Look closer": {
        "inspect": "Ask about one function: passes, growth, parity, time, variants.",
        "record": "Run a command and record every program that JAX compiles in it.",
    },
    "Integration": {
        "git": "Show reports in git diff, and block line merges of programs.",
        "comment": "Post the result of a check as one comment that is kept up to date.",
    },
}
COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}
FORMER = {
    "bisect": (["log"], "log NAME METRIC"),
    "reject": (["review", "--reject"], "review --reject"),
    "report": (["diff", "--saved"], "diff RESULT.json"),
    "targets": (["list", "--targets"], "list --targets"),
    "jit-report": (["inspect", "variants"], "inspect variants"),
    "growth": (["inspect", "growth"], "inspect growth"),
    "parity": (["inspect", "parity"], "inspect parity"),
    "profile": (["inspect", "profile"], "inspect profile"),
}
"""Commands of earlier versions, each with its replacement and how to call it."""
_FAILED = 2
_HELP = {"-h", "--help", "--version"}
# Hint for errors without a hint of their own: `hlodiff list` shows in a second whether it is fixed, without compiling.
_REPAIR = "repair it, then `hlodiff list` shows what it finds"


class _Commands(click.Group):
    """Knows all commands by name and imports only the requested one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"hlodiff.cli.{cmd_name.replace('-', '_')}_command").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from hlodiff.config import closest
            from hlodiff.report.lines import printable

            near = closest(args[0], [*COMMANDS, *FORMER])
            near = FORMER[near][1] if near in FORMER else near
            hint = f"Did you mean `{near}`?" if near else f"Commands: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command `{printable(args[0])}`. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<7}", words) for name, words in group.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hlodiff")
def program() -> None:
    """Record what JAX functions compile to, and show what a change did to the compiled programs.

    \b
    A new project:    hlodiff init, then hlodiff update, then commit the snapshots.
    In CI:            hlodiff check
    You meant it:     hlodiff review, then commit the snapshots.
    Any two programs: hlodiff diff OLD NEW
    A command:        hlodiff COMMAND --help

    Exit codes: 0 unchanged or allowed, 1 something fails the policy, 2 hlodiff could not decide, 130 and 143
    interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: the command line after `hlodiff`.

    Returns:
        the exit code: 0 clean, 1 a finding fails, 2 no verdict was possible, 128 + N where signal N ended it.

    Example:
        >>> run(["--version"])
        hlodiff, version 0.1.0
        0
    """
    try:
        with progress_bar():
            code = program.main(args=_as_now_called(arguments), prog_name="hlodiff", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit:  # raised by click if the reader of a help text has closed the pipe
        from hlodiff.cli.output import close_stdout

        close_stdout()
        return 0 if _HELP.intersection(arguments) else _FAILED
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        error.show()
        return _FAILED
    except (click.Abort, KeyboardInterrupt) as error:
        from hlodiff.cli.output import tell
        from hlodiff.interrupts import Interrupted, exit_code

        cause = error.__cause__ if isinstance(error, click.Abort) else error
        by = f" by {cause}" if isinstance(cause, Interrupted) and cause.number != signal.SIGINT else ""
        tell(f"interrupted{by}: every snapshot is whole, recorded before or by this run")
        return exit_code(cause)
    except Exception as error:
        if isinstance(error, FileNotFoundError) and not _here():
            error = UsageError("the current folder no longer exists", hint="cd into one that does")
        if not isinstance(error, HlodiffError) and os.environ.get("HLODIFF_TRACEBACK"):
            traceback.print_exception(error)
        else:
            _tell(expected_error(error))
        return _FAILED


def _as_now_called(arguments: Sequence[str]) -> list[str]:
    """The arguments with a former command replaced by its present name; prints one line about it."""
    name, *rest = arguments or [""]
    if name not in FORMER:
        return list(arguments)
    from hlodiff.cli.output import tell

    words, now = FORMER[name]
    tell(f"note: `hlodiff {name}` is now `hlodiff {now}`")
    # The word after NAME may also be a revision; the range makes it unambiguous.
    settled = ["--to=HEAD"] if name == "bisect" and not any(word.partition("=")[0] == "--to" for word in rest) else []
    return [*words, *settled, *rest]


def _tell(error: HlodiffError) -> None:
    from hlodiff.cli.output import tell

    hint = error.hint or (_REPAIR if isinstance(error, (ConfigError, RegistryError)) else "")
    # One error is one paragraph: indent the rest, so that no line of a log or exception looks like another error.
    message = str(error).replace("\n", "\n  ") + (f"\nhint: {one_line(hint)}" if hint else "")
    # Worker messages name files by absolute path.
    here = _here()
    tell(f"error: {message}".replace(f"{here}/", "") if here else f"error: {message}")


def _here() -> str:
    """The current folder; "" if it was deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""
