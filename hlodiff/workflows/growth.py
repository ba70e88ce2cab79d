"""Lowers cases at several sizes, classifies how they grow, and compares that with their records."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from hlodiff.capture import (
    CaptureFailure,
    Discovery,
    GrowthRequest,
    GrowthResult,
    Inputs,
    NotChecked,
    SizedProgram,
    discover,
    worker_reuse,
)
from hlodiff.config import Config, shown_path
from hlodiff.differ.growth import Growth, growing_lines, grown_repeats, growth_series, measure
from hlodiff.differ.program_analysis import analyze_program
from hlodiff.errors import HlodiffError, UsageError
from hlodiff.hlo.metadata import INSTALLED
from hlodiff.hlo.model import Module
from hlodiff.policy import Finding
from hlodiff.policy.findings import Severity, end_of_log
from hlodiff.policy.growth import RULE, changed_growth, growth_record, judge_growth, recorded_classes
from hlodiff.report.growth import causes, growing_tables
from hlodiff.snapshots import (
    FolderTree,
    Key,
    list_growth,
    read_growth,
    recorded_text,
)
from hlodiff.workflows.capture_side import capture_programs
from hlodiff.workflows.pending_writer import PendingWriter
from hlodiff.workflows.select import ChosenFunctions, choose, selected
from hlodiff.workflows.source_lines import plain_file

_DEEPEST = 50  # nested loops
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class PythonLoops:
    """Maps a file of the project or a package and a line to the first lines of the loops around it, outermost first.

    A comprehension's line is negative, because other code on that line is not part of the loop. () is no loop, None a
    file that cannot be read. Each file is read once.

    Args:
        root: the project's folder, which relative paths are relative to.

    Example:
        >>> PythonLoops(Path("."))("no such file.py", 3) is None
        True
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lines: dict[str, dict[int, tuple[int, ...]] | None] = {}

    def __call__(self, file: str, line: int) -> tuple[int, ...] | None:
        if file not in self._lines:
            self._lines[file] = self._read(file)
        lines = self._lines[file]
        return None if lines is None else lines.get(line, ())

    def _read(self, file: str) -> dict[int, tuple[int, ...]] | None:
        found: dict[int, tuple[int, ...]] = {}
        try:
            for line, around in _looping(ast.parse(plain_file(self._path(file)))):
                found[line] = max(found.get(line, ()), around, key=len)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # MemoryError: nested too deep
            return None
        return found

    def _path(self, file: str) -> Path:
        if file.startswith(INSTALLED):
            return Path(sysconfig.get_path("purelib"), file.removeprefix(INSTALLED))
        return self.root / file  # an absolute path stays as it is


def _looping(tree: ast.AST) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Lines and the loops around them; the body of a function defined in a loop does not count as inside."""
    worklist: list[tuple[ast.AST, tuple[int, ...]]] = [(tree, ())]
    while worklist:
        node, around = worklist.pop()
        for child in ast.iter_child_nodes(node):
            within = around
            if isinstance(child, _FUNCTIONS):
                within = ()
            elif isinstance(child, _LOOPS):
                within = (*around, child.lineno)
            elif isinstance(child, _COMPREHENSIONS):
                within = (*around, -child.lineno)
            if len(within) > _DEEPEST:
                raise RecursionError
            if within and isinstance(child, (ast.stmt, ast.expr)):
                last = child.lineno if isinstance(child, _LOOPS) else child.end_lineno or child.lineno
                yield from ((line, within) for line in range(child.lineno, last + 1))
            worklist.append((child, within))


@dataclass(frozen=True, slots=True)
class GrowthSeries:
    """Growth of one case, or why it is unknown.

    Args:
        key: function, case and target.
        growths: growth for each parameter; () if unknown.
        limits: the worst allowed growth class of each quantity.
        failure: why growth is unknown.
        inputs: inputs of the lowering.
    """

    key: Key
    growths: tuple[Growth, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()
    failure: NotChecked | CaptureFailure | None = None
    inputs: Inputs = field(default_factory=Inputs)


def growing_keys(discovery: Discovery, chosen: ChosenFunctions) -> tuple[Key, ...]:
    """The chosen cases with `grow=` sizes, each with the one target to lower for.

    StableHLO is the same for nearly all targets, so one is enough: `cpu` if the case has it, else its first target.
    """
    wanted = dict.fromkeys(chosen.registered)
    keys = []
    for found in discovery.functions:
        for case in found.grown:
            targets = [target for target, cases in found.programs if case in cases]
            key = Key(found.name, case, "cpu" if "cpu" in targets else targets[0])
            if key in wanted:
                keys.append(key)
    return tuple(keys)


def measure_growth(config: Config, requests: Sequence[GrowthRequest], jobs: int | None) -> Iterator[GrowthSeries]:
    """Lower cases at their sizes and classify their growth.

    Args:
        config: the project's.
        requests: which cases.
        jobs: number of workers.

    Returns:
        one record for each request, in order of completion.
    """
    in_loop = PythonLoops(config.root)
    if not requests:
        return
    with closing(capture_programs(config, requests, jobs, "lowering")) as outcomes:
        for key, outcome in outcomes:
            if isinstance(outcome, GrowthResult):
                growths = tuple(growth_of(config, key, sized, in_loop) for sized in outcome.parameters)
                yield GrowthSeries(key, growths, tuple(outcome.limits.items()), inputs=outcome.inputs)
            elif isinstance(outcome, (NotChecked, CaptureFailure)):
                yield GrowthSeries(key, failure=outcome)


def measured_growth(config: Config, keys: Sequence[Key], jobs: int | None) -> list[GrowthSeries]:
    """The growth of cases at their own sizes, in the order of their keys."""
    requests = [GrowthRequest(key.function, key.case, key.target) for key in keys]
    found = {series.key: series for series in measure_growth(config, requests, jobs)}
    return [found[key] for key in keys if key in found]


def growth_of(config: Config, key: Key, sized: SizedProgram, in_loop: PythonLoops) -> Growth:
    """How a case grows with one parameter.

    Args:
        config: the project's, for how constants are compared.
        key: the case.
        sized: its programs by size.
        in_loop: whether a line is inside a Python loop.
    """
    from hlodiff.hlo import read_text
    from hlodiff.hlo.fingerprint import program_fingerprint

    sizes = tuple(program.size for program in sized.programs)
    label = f"{key.name}: {sized.parameter}="
    modules = [read_text(program.stablehlo, path=f"{label}{program.size}", trusted=True) for program in sized.programs]
    normal = [_normalized(module, config) for module in modules]
    compiled = [
        _normalized(read_text(program.compiled, path=f"{label}{program.size}"), config)
        for program in sized.programs
        if program.compiled
    ]
    largest = analyze_program(modules[-1], in_loop)
    return Growth(
        key.name,
        key.target,
        sized.parameter,
        sizes,
        growth_series(sizes, [measure(*one) for one in normal]),
        growth_series(sizes, [measure(*one) for one in compiled]) if compiled else (),
        grown_repeats(modules, largest.repeats, in_loop),
        growing_lines(sizes, modules),
        len({program_fingerprint(module) for module, _ in normal}) == 1,
        largest,
        {table.digest: (table.name, table.where) for table in sized.tables},
    )


def _normalized(module: Module, config: Config) -> tuple[Module, str]:
    from hlodiff.normalizer import normalize, to_text

    found = normalize(module, large_constants=config.large_constants)
    return found, to_text(found)


PLACE = "growth"
"""The target of growth records in the lists of `update`: growth is recorded once for all targets."""


def check_growth(
    config: Config,
    discovery: Discovery,
    chosen: ChosenFunctions,
    names: Sequence[str],
    jobs: int | None,
    pending: PendingWriter,
) -> tuple[Finding, ...]:
    """Measure how the chosen cases grow, and compare with their records.

    Args:
        config: the project's.
        discovery: what is registered.
        chosen: the programs of this run.
        names: the patterns that chose them.
        jobs: number of workers.
        pending: keeps unrecorded results for `accept`.

    Returns:
        findings in the order of registration, orphans last.
    """
    measured = measured_growth(config, growing_keys(discovery, chosen), jobs)
    findings = [finding for grew in measured for finding in _judged(config, grew, pending)]
    for function, case in orphaned_growth(config, discovery, names):
        what = "has growth.yaml, and its case names no sizes any more"
        name = Key(function, case, PLACE).name
        findings.append(Finding("error", RULE, name, None, what, "hlodiff update --prune"))
    return tuple(findings)


def _judged(config: Config, grew: GrowthSeries, pending: PendingWriter) -> tuple[Finding, ...]:
    key, own = grew.key, Key(grew.key.function, grew.key.case, PLACE)
    try:
        record = read_growth(shown_path(config.snapshots), key.function, key.case)
        text = recorded_text(FolderTree(shown_path(config.snapshots)), own)
    except HlodiffError as error:
        advice = f"hlodiff update {key.name}"
        what = str(error)
        return (Finding("broken", RULE, key.name, None, what, advice),)
    if isinstance(grew.failure, NotChecked):
        severity: Severity = "info" if record is None else "warning"
        return (Finding(severity, RULE, key.name, key.target, grew.failure.reason, grew.failure.advice),)
    if grew.failure is not None:
        pending.forget_record(own)
        log = end_of_log(grew.failure.log_tail)
        return (Finding("broken", RULE, key.name, None, grew.failure.what, "", log),)
    found = growth_record(key.function, key.case, grew.growths)
    pending.record(own, found, text, text is None or bool(changed_growth(record, found)[0]), grew.inputs)
    words = {growth.parameter: grown_words(growth, str(config.root)) for growth in grew.growths}
    return tuple(judge_growth(key.name, grew.growths, record, dict(grew.limits), words))


def grown_words(growth: Growth, root: str) -> tuple[str, ...]:
    """Causes of growth as text: repeated lines and growing tables."""
    return (*causes(growth, root), *growing_tables(growth, root))


def orphaned_growth(config: Config, discovery: Discovery, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Growth records whose cases no longer have `grow=` sizes, among the selected names."""
    known = {(found.name, case) for found in discovery.functions for case in found.grown}
    unknown = {found.name for found in discovery.functions if found.problem}
    return tuple(
        one
        for one in list_growth(config.snapshots)
        if one not in known and one[0] not in unknown and selected(Key(*one, PLACE), names, ())
    )


@dataclass(frozen=True, slots=True)
class MeasuredGrowth:
    """Measured growth of some cases.

    Args:
        growths: growth of each case and parameter, with the recorded class of each series.
        unlisted: functions whose cases, and so their sizes, are unknown.
        failures: why cases could not be measured.
    """

    growths: list[tuple[Growth, Mapping[str, str]]]
    unlisted: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, or 2 if something could not be measured, or nothing was because cases are unknown."""
        return 2 if self.failures or (self.unlisted and not self.growths) else 0


def measure_named_growth(
    config: Config,
    names: Sequence[str],
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = (),
    target: str | None = None,
    compile_too: bool = False,
    jobs: int | None = None,
) -> MeasuredGrowth:
    """Lower the named cases at several sizes, without writing or judging.

    Args:
        config: the project's.
        names: patterns; all cases with `grow=` sizes if empty.
        sizes: sizes by parameter that replace those of the cases.
        target: target to lower for; None for cpu if the case has it, else its first.
        compile_too: whether to also compile at each size.
        jobs: number of workers; None for the configured number.

    Raises:
        UsageError: a name matches nothing, or no case has `grow=` sizes.
    """
    with worker_reuse():
        discovery = discover(config)
        chosen = choose(config, discovery, names, ())
        keys = _first_targets(discovery, names) if sizes else growing_keys(discovery, chosen)
        asked = {key.function for key in chosen.registered}
        # Chosen functions whose cases, and so their sizes, are unknown.
        broken = [one for one in discovery.functions if one.problem and one.cases == ("",) and not one.grown]
        unlisted = tuple(
            f"the cases of `{one.name}` cannot be listed: {one.problem}"
            for one in broken
            if one.name in asked and not sizes
        )
        if not keys and unlisted:
            return MeasuredGrowth([], unlisted)
        if not keys:
            hint = 'Case(..., grow={"length": [8, 16, 32, 64]}), or --at length=8,16,32,64'
            raise UsageError("none of the selected cases has sizes (grow=)", hint=hint)
        requests = [GrowthRequest(key.function, key.case, target or key.target, compile_too, sizes) for key in keys]
        found: dict[tuple[str, str], tuple[Growth, ...]] = {}
        failures = []
        for series in measure_growth(config, requests, jobs):
            found[series.key.function, series.key.case] = series.growths
            if series.failure is not None:
                reason = getattr(series.failure, "reason", "") or getattr(series.failure, "what", "")
                failures.append(f"{series.key.name} on {series.key.target}: {reason}")
    growths = [
        (growth, _recorded(config, key, growth)) for key in keys for growth in found.get((key.function, key.case), ())
    ]
    return MeasuredGrowth(growths, unlisted, tuple(failures))


def _first_targets(discovery: Discovery, names: Sequence[str]) -> tuple[Key, ...]:
    """The named cases, each with one target; they need no `grow=` sizes of their own."""
    if not names:
        raise UsageError("--at needs a NAME", hint="hlodiff inspect growth NAME --at length=8,16,32,64")
    keys = []
    for found in discovery.functions:
        targets = sorted(found.targets, key=lambda target: target != "cpu")
        keys += [Key(found.name, case, targets[0]) for case in found.cases]
    return tuple(key for key in keys if selected(key, names, ()))


def _recorded(config: Config, key: Key, growth: Growth) -> Mapping[str, str]:
    try:
        return recorded_classes(read_growth(shown_path(config.snapshots), key.function, key.case), growth.parameter)
    except HlodiffError:
        return {}  # `check` reports what is wrong with it
