"""`hlodiff inspect`: questions about one program, each a command of its own."""

from __future__ import annotations

from importlib import import_module

import click

# Each is imported when it is used. The first two exist here alone; the others are found under their old names too.
_COMMANDS = {
    "passes": ("inspect_passes_command", "Show what each of XLA's passes did to a program."),
    "origin": ("inspect_origin_command", "Show where an instruction comes from: its Python line and XLA's passes."),
    "growth": ("growth_command", "Show how programs grow with a size, and where."),
    "parity": ("parity_command", "Show where a call compiles to another program than `.lower()` gives."),
    "profile": ("profile_command", "Show how long a function takes to trace, lower and compile, pass by pass."),
    "variants": ("jit_report_command", "Run a computation jitted in several ways and compare what that compiles to."),
}


class _Questions(click.Group):
    """Knows its commands by name and imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"hlodiff.cli.{_COMMANDS[cmd_name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in _COMMANDS.items()])


@click.group("inspect", cls=_Questions)
def command() -> None:
    """Look closer at one program."""
