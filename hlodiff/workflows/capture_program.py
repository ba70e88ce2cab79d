"""`hlodiff.capture_program`: captures one case in this process, for assertions on its program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hlodiff.config import process_environment, set_defaults
from hlodiff.differ.comparison import donated_parameters, flat_facts
from hlodiff.errors import CaptureError
from hlodiff.policy.assertions import Program
from hlodiff.registry import Case


class NotAvailableHere(CaptureError):
    """This machine cannot compile for a target."""


def capture_program(
    case: Case | Callable[..., Case], *, target: str = "cpu", name: str = "program", root: Path | None = None
) -> Program:
    """Compile a case for a target in this process, without running or comparing it.

    Args:
        case: a `hlodiff.Case`, or a function that returns one for a `hlodiff.Target`, to build a mesh of its devices.
        target: "cpu", or any other that this machine can compile for.
        name: name in messages.
        root: the folder that paths of Python files are relative to; the current one by default.

    Returns:
        the program, with assertions such as `assert_no_collective` and `assert_budget`.

    Raises:
        NotAvailableHere: this machine cannot compile for the target.
        CaptureError: tracing, lowering or compiling failed.
        UsageError: there is no such target.

    Example:
        >>> program = capture_program(Case(step, abstract((32, 64), "float32")))  # doctest: +SKIP
        >>> program.assert_budget(temp_bytes="1 MiB", copies_in_loops=0)  # doctest: +SKIP
    """
    from hlodiff.capture import CapturedProgram, NotChecked, Request
    from hlodiff.capture.compile_case import Bench, capture_with
    from hlodiff.capture.environment import defaults_for
    from hlodiff.differ.metrics import raw_metrics
    from hlodiff.hlo import read_text

    set_defaults(defaults_for(target))
    folder = (root or Path()).absolute()
    outcome = capture_with(Bench(folder, process_environment()), Request(name, "", target), _finding(case))
    if isinstance(outcome, NotChecked):
        raise NotAvailableHere(f"{name} on {target}: {outcome.reason}", hint=outcome.advice)
    if not isinstance(outcome, CapturedProgram):
        raise CaptureError(f"{name} on {target}: {outcome.what}\n{outcome.log_tail}".rstrip())
    stablehlo = read_text(outcome.stablehlo, path=f"{name} on {target}: stablehlo.mlir", trusted=True)
    compiled = read_text(outcome.compiled or "", path=f"{name} on {target}: compiled.hlo")
    donated = donated_parameters(outcome.facts)
    facts = flat_facts(outcome.facts) | raw_metrics(compiled)
    return Program(name, target, stablehlo, compiled, facts, str(folder), donated)


def _finding(case: Case | Callable[..., Case]) -> Callable[[object, bool], Case]:
    def find(target: object, _: bool) -> Case:
        made = case if isinstance(case, Case) else case(target)
        if not isinstance(made, Case):
            raise CaptureError(f"expected a hlodiff.Case, found {type(made).__name__}")
        return made

    return find
