"""`hlodiff inspect parity NAME`: compares what a real call compiles with what `.lower()` compiles."""

from __future__ import annotations

from pathlib import Path

import click

from hlodiff.capture import discover, worker_reuse
from hlodiff.capture.targets import parse_target
from hlodiff.cli import options
from hlodiff.cli.output import emit, tell
from hlodiff.errors import UsageError
from hlodiff.report.parity import parity_json, parity_markdown, parity_text
from hlodiff.workflows import load
from hlodiff.workflows.parity import parity_keys, ran
from hlodiff.workflows.select import choose

_FORMS = {"text": parity_text, "json": parity_json, "markdown": parity_markdown}


@click.command(
    "parity",
    epilog="""\b
Examples:
  hlodiff inspect parity optimizer_step
  hlodiff inspect parity optimizer_step --target tpu-v5e-2x2
""",
)
@options.required_names()
@click.option("-t", "--target", default="", metavar="TARGET", help="Compile both ways for this target too.")
@click.option("--exit-code", is_flag=True, help="Exit 1 if a program differs.")
@click.option("--format", "form", type=click.Choice(list(_FORMS)), default="text", show_default=True, help="Form.")
@options.output
@options.workers
@options.project
@worker_reuse()
def command(
    names: tuple[str, ...],
    target: str,
    exit_code: bool,
    form: str,
    output: str | None,
    jobs: int | None,
    project: Path,
) -> int:
    """Run functions on this machine's CPU, and compare what the call compiled with what `.lower()` gives.

    NAME is a function, a case (`function/case`) or a pattern. Abstract arguments are filled with ones and zeros. A
    plain function may call several jitted ones; each of their programs is compared. With --target both are also
    compiled for a target that need not be on this machine, with everything around the call.
    """
    config = load(project)
    if target and parse_target(target).kind in ("cpu", "attached"):
        raise UsageError(f"`{target}` is not a target to compile for without running", hint="--target tpu-v5e-2x2")
    discovery = discover(config)
    keys = parity_keys(discovery, choose(config, discovery, names, ()), marked=False)
    found = {one.key: one for one in ran(config, keys, jobs, target)}
    parities = []
    code = 0
    for key in keys:
        one = found.get(key)
        if one is None or one.parity is None:
            failure = one.failure if one else None
            reason = getattr(failure, "reason", "") or getattr(failure, "what", "") or "nothing came back"
            tell(f"{key.name} on {key.target}: {reason}")
            code = 2
        else:
            parities.append(one.parity)
    if parities or not code:
        emit(_FORMS[form](parities, str(config.root)), output)
    differs = any(program.differs for parity in parities for program in parity.programs)
    return code or int(exit_code and differs)
