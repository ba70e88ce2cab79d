"""`hlodiff inspect`: questions about one program, one subcommand each."""

from __future__ import annotations

from importlib import import_module

import click

# Imported on use.
_COMMANDS = {
    "growth": "Show how programs grow with a size, and where.",
    "parity": "Show where a call compiles to a different program than `.lower()` gives.",
    "variants": "Run a computation jitted in several ways and compare what that compiles to.",
    "profile": "Show how long a function takes to trace, lower and compile, pass by pass.",
    "passes": "Show what each of XLA's passes did to a program.",
    "origin": "Show where an instruction comes from: its Python line and XLA's passes.",
}


class _Questions(click.Group):
    """Knows its commands by name and imports only the requested one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"hlodiff.cli.inspect_{cmd_name}_command").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group("inspect", cls=_Questions, epilog="\b\nExample:\n  hlodiff inspect profile solve\n")
def command() -> None:
    """Look closer at one function. No snapshot is written."""
