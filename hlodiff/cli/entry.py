"""The `hlodiff` command: its subcommands, and what becomes of errors."""

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
from hlodiff.errors import ConfigError, HlodiffError, RegistryError, expected_error
from hlodiff.interrupts import Interrupted, exit_code

# Subcommands are imported when they are used: `--help` must be quick, and `diff` must not import JAX.
_COMMANDS = {
    "init": "Set a project up: configuration and a first registered function.",
    "list": "Show registered functions and whether they have snapshots.",
    "targets": "Show what this machine can compile for, and what is missing.",
    "update": "Compile registered functions and record what changed.",
    "check": "Compile registered functions and compare with the snapshots.",
    "review": "Walk through what check found: accept, reject or skip each.",
    "accept": "Record what check captured, by name, id, pattern or class.",
    "reject": "Forget what check captured.",
    "upgrade": "Show what another jax would compile registered functions to.",
    "diff": "Compare two files, folders or git revisions.",
    "log": "Show the numbers of a recorded program over the commits that changed it.",
    "bisect": "Find the commit that changed a number of a recorded program.",
    "git": "Let git show reports of snapshots, and keep merges out of them.",
    "inspect": "Look closer at one program: its passes, where an instruction comes from, ...",
    "parity": "Show where a call compiles to another program than `.lower()` gives.",
    "growth": "Show how programs grow with a size, and where.",
    "show": "Show what one recorded program is made of.",
    "jit-report": "Run a computation jitted in several ways and compare what that compiles to.",
    "record": "Run a command and record every program that JAX compiles in it.",
    "profile": "Show how long a function takes to trace, lower and compile, pass by pass.",
    "report": "Show a result that `--format json` has saved, in another form.",
    "comment": "Say on a pull or merge request what a check has found, in one comment.",
}
_FAILED = 2
_HELP = {"-h", "--help", "--version"}
# Where an error says no more: what shows whether it is repaired, in a second and without compiling anything.
_REPAIR = "repair it; `hlodiff list` shows what is found"


class _Commands(click.Group):
    """Knows all commands by name and imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"hlodiff.cli.{cmd_name.replace('-', '_')}_command").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from hlodiff.config import closest
            from hlodiff.report.lines import printable

            near = closest(args[0], _COMMANDS)
            hint = f"Did you mean `{near}`?" if near else f"Commands: {', '.join(_COMMANDS)}."
            raise click.UsageError(f"No such command `{printable(args[0])}`. {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hlodiff")
def _group() -> None:
    """Record what JAX functions compile to, and tell what a change did to the compiled programs.

    \b
    A new project:    hlodiff init, then hlodiff update, then commit the snapshots.
    In CI:            hlodiff check
    It was meant:     hlodiff review, then commit the snapshots.
    Two of anything:  hlodiff diff OLD NEW

    Exit codes: 0 clean, 1 something fails the policy, 2 no verdict was possible, 130 and 143 interrupted.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: what stands after `hlodiff` on the command line.

    Returns:
        the exit code: 0 clean, 1 a finding fails, 2 no verdict was possible, 128 + N where signal N ended it.

    Example:
        >>> run(["--version"])
        hlodiff, version 0.1.0
        0
    """
    try:
        with progress_bar():
            code = _group.main(args=list(arguments), prog_name="hlodiff", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit:  # click's, where the reader of a help text has left
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

        cause = error.__cause__ if isinstance(error, click.Abort) else error
        by = f" by {cause}" if isinstance(cause, Interrupted) and cause.number != signal.SIGINT else ""
        tell(f"interrupted{by}: every snapshot is whole, recorded before or by this run")
        return exit_code(cause)
    except Exception as error:
        if not isinstance(error, HlodiffError) and os.environ.get("HLODIFF_TRACEBACK"):
            traceback.print_exception(error)
        else:
            _tell(expected_error(error))
        return _FAILED


def _tell(error: HlodiffError) -> None:
    from hlodiff.cli.output import tell

    hint = error.hint or (_REPAIR if isinstance(error, (ConfigError, RegistryError)) else "")
    message = f"{error}\nhint: {hint}" if hint else str(error)
    # Messages of workers name files by their full path.
    tell(f"error: {message}".replace(f"{Path.cwd()}/", ""))
