"""`hlodiff init`: configuration, a first registered function, and git attributes for snapshots."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.cli.completion import SHELLS, completion_script
from hlodiff.cli.output import emit
from hlodiff.config import shown_path
from hlodiff.integrations.ci_recipes import RECIPES, CiFiles, ci_files
from hlodiff.snapshots.paths import refuse_links, write_project_file
from hlodiff.workflows import load_if_any, set_up_project


@click.command(
    "init",
    epilog="""\b
Examples:
  hlodiff init
  hlodiff init --ci github
""",
)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path())
@click.option("--ci", "recipes", type=click.Choice(list(RECIPES)), multiple=True, help="Write CI files; repeatable.")
@click.option(
    "--action", metavar="OWNER/REPO@REF", help="For GitHub: where the action is, if hlodiff does not know it."
)
@click.option(
    "--completion",
    "shell",
    type=click.Choice(SHELLS),
    help="Write what this shell needs to complete names and targets, and nothing else.",
)
def command(folder: Path, recipes: tuple[str, ...], action: str | None, shell: str | None) -> int:
    """Set a project up in FOLDER (this one by default).

    Adds a commented [tool.hlodiff] to pyproject.toml, a first registered function, and git attributes for snapshots.
    Nothing that exists is overwritten.

    `--ci github` adds the workflows that check pull requests and comment on them, `--ci gitlab` a job that does, `--ci
    github-upgrade` a weekly comparison with the newest jax. If the project is set up already, only these files are
    written.

    `--completion bash` (or zsh, fish) writes a script below your home folder.
    """
    if shell is not None:
        file, script, left = completion_script(shell, click.get_current_context().find_root().command)
        file.parent.mkdir(parents=True, exist_ok=True)
        emit(script, str(file), commands=True)
        emit(f"wrote {file}\nnext: {left}\n", None)
        return 0
    config = load_if_any(folder) if recipes else None
    known = config is not None and config.root.resolve() == folder.resolve()
    ci = ci_files(folder, recipes, action, config if known else None) if recipes else CiFiles()
    for path, _ in ci.files:
        refuse_links(path)  # before anything is written
    lines = [] if known else set_up_project(folder)
    for path, text in ci.files:
        write_project_file(path, text)
        lines.append(f"wrote {shown_path(path)}")
    following = "hlodiff check, then commit" if known else "hlodiff update"
    emit("".join(f"{line}\n" for line in (*lines, *ci.notes, f"next: {following}")), None)
    return 0
