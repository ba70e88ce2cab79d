"""`hlodiff show NAME --why`: what makes one program larger than necessary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hlodiff.differ.program_analysis import analyze_program
from hlodiff.hlo.model import Module
from hlodiff.report.program_analysis import AnalysisNote, analysis_notes, listed, program_analysis_json
from hlodiff.snapshots import Key, Tree, attach_source, read_snapshot
from hlodiff.workflows.growth import PythonLoops


def file_reasons(path: Path, root: Path) -> dict[str, Any]:
    """The reasons for the size of a program file.

    Args:
        path: of a program file.
        root: the folder of the Python files that it names.

    Returns:
        plain values: its name, everything found, and the same as sentences.
    """
    from hlodiff.hlo import read

    return {"function": path.name, **_reasons(read(path), root)}


def snapshot_reasons(tree: Tree, key: Key, root: Path) -> dict[str, Any]:
    """The reasons for the size of a recorded program; see `file_reasons`."""
    from hlodiff.hlo import read_text

    snapshot = read_snapshot(tree, key)
    module = read_text(snapshot.stablehlo, path=f"{tree.where}/{key.folder}/stablehlo.mlir")
    module = attach_source(module, (snapshot.source or {}).get("stablehlo"))
    return {"function": key.function, "case": key.case, "target": key.target, **_reasons(module, root)}


def to_mend(text: str, root: Path) -> tuple[AnalysisNote, ...]:
    """What makes a program larger than necessary, as far as there is advice.

    Args:
        text: StableHLO with source locations.
        root: the folder of the Python files that it names.

    Returns:
        notes, each with advice.
    """
    from hlodiff.hlo import read_text

    return tuple(
        one for one in analysis_notes(analyze_program(read_text(text), PythonLoops(root)), str(root)) if one.advice
    )


def _reasons(module: Module, root: Path) -> dict[str, Any]:
    found = analyze_program(module, PythonLoops(root))
    sentences = [{"kind": one.kind, "what": one.what, "advice": one.advice} for one in analysis_notes(found, str(root))]
    return {"stage": module.stage, **program_analysis_json(found, str(root)), "words": sentences}


def reasons_text(reasons: Mapping[str, Any]) -> Iterator[str]:
    """The reasons as lines of text."""
    names = [reasons.get("function"), reasons.get("case")]
    target = [str(reasons["target"])] if reasons.get("target") else []
    yield "  ".join(["/".join(str(name) for name in names if name), *target])
    everything = [AnalysisNote(row["kind"], row["what"], row["advice"]) for row in reasons["words"]]
    if not everything:
        compiled = reasons.get("stage") == "compiled"
        own = "" if compiled else "no loop that was unrolled for certain, no value computed twice, "
        yield f"  nothing: {own}no large constant, no loop of known length"
    for one in listed(everything):
        yield f"  {one.kind}: {one.what}"
        if one.advice:
            yield f"    {one.advice}"
