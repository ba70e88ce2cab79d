"""`hlodiff upgrade`: compiles registered functions in this environment and another one, and compares them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from hlodiff.capture import discover, worker_reuse
from hlodiff.differ.comparison import ProgramComparison
from hlodiff.errors import UsageError
from hlodiff.hlo.metadata import portable_file
from hlodiff.report.report import Report, ToolchainChange, toolchain_changes
from hlodiff.report.wording import many
from hlodiff.snapshots import Key
from hlodiff.workflows.capture_side import capture_side
from hlodiff.workflows.configuration import load
from hlodiff.workflows.passes import compare_captured, dump_all
from hlodiff.workflows.select import intact_snapshots, load_stored, select
from hlodiff.workflows.source_lines import WORK_TREE, SourceLines, SourceSide, library_lines
from hlodiff.workflows.temporary_environment import (
    OtherEnvironment,
    capture_elsewhere,
    dump_elsewhere,
    imported_as,
    installed_in,
    installed_versions,
    label_of,
    other_environment,
    refuse_unsupported,
    with_plugins,
)

_LOG = logging.getLogger(__name__)


def compare_environments(
    requirements: Sequence[str],
    names: Sequence[str] = (),
    targets: Sequence[str] = (),
    *,
    python: Path | None = None,
    folder: Path | None = None,
    root: Path = Path(),
    jobs: int | None = None,
    passes: bool = False,
) -> Report:
    """Compile registered functions here and with other versions, and compare. Snapshots are neither needed nor written.

    Args:
        requirements: pip requirements (`jax==0.10.2`) for a temporary environment on top of this one.
        names, targets: patterns; all if empty.
        python: the interpreter of an existing environment.
        folder: the folder of an existing virtual environment.
        root: the project.
        jobs: number of worker processes on each side; None for the configured number.
        passes: whether to report which XLA pass caused each change; recompiles changed programs on each side.

    Returns:
        the report; a program that fails on a side is not checked.

    Raises:
        UsageError: no other environment is given, it cannot be used, or a pattern matches nothing.
        CaptureError: hlodiff could not run there.
    """
    if not requirements and python is None and folder is None:
        raise UsageError("nothing to compare with", hint="hlodiff upgrade 'jax==VERSION', or --env DIR")
    refuse_unsupported(requirements)
    config = load(root)
    with worker_reuse():
        keys = select((Key(r.function, r.case, r.target) for r in discover(config).requests()), names, targets)
        kinds = [kind for kind in ("tpu", "cuda") if any(key.target.startswith(kind) for key in keys)]
        wanted = requirements if python or folder else with_plugins(requirements, kinds)
        with other_environment(wanted, python, folder) as other:
            versions = installed_versions(other.versions)
            here = label_of(versions, other.versions)
            stored, _ = load_stored(config, keys)
            _LOG.info("capturing %s with %s", many(len(keys), "program"), here)
            old = capture_side(config, keys, jobs, intact_snapshots(stored), label=here, called=f"with {here}")
            _LOG.info("capturing them with %s", other.label)
            new = capture_elsewhere(config, other, names, targets, jobs)
            dump_sides = partial(dump_all, config, jobs=jobs), partial(dump_elsewhere, config, other, jobs=jobs)
            compared = compare_captured(config, old, new, dump_sides if passes else None)
            programs = compared.programs
            libraries = tuple(_libraries(versions, other.versions))
            lines = _library_lines(programs, [one.what for one in libraries], other)
    return Report(
        command="diff",
        old=old.label,
        new=new.label,
        programs=programs,
        toolchain=(*toolchain_changes(compared.toolchains), *libraries),
        root=str(config.root),
        same_code=True,
        packages=tuple(name for one in libraries for name in imported_as(one.what)),
        threshold=config.relevance_threshold,
        source_line=SourceLines(config.root, (SourceSide(WORK_TREE), SourceSide(WORK_TREE)), lines),
    )


def _library_lines(
    programs: Sequence[ProgramComparison], libraries: Sequence[str], other: OtherEnvironment
) -> tuple[dict[str, Sequence[str]], dict[str, Sequence[str]]]:
    """Sources on both sides of libraries whose versions differ, read before the other environment is removed."""
    modules = [module for one in programs if one.diff for module in (one.diff.old, one.diff.new)]
    files = {portable_file(frame.file) for module in modules for frame in module.frames}
    found: tuple[dict[str, Sequence[str]], dict[str, Sequence[str]]] = ({}, {})
    for name in libraries:
        place = other.places.get(name)
        for lines, folder in zip(found, (installed_in(name), Path(place) if place else None), strict=True):
            lines.update(library_lines(files, imported_as(name), folder))
    return found


def _libraries(old: Mapping[str, str | None], new: Mapping[str, str | None]) -> Iterator[ToolchainChange]:
    """The libraries whose versions differ; jax, jaxlib and plugins are in the toolchain of each program."""
    for name in old:
        if not name.startswith(("jax", "libtpu", "nvidia-")) and old[name] != new.get(name):
            yield ToolchainChange(name, old[name] or "none", new.get(name) or "none", ())
