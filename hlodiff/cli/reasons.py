"""`hlodiff show NAME --why`: what one program holds more often or larger than it must."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hlodiff.anatomy.whole import anatomy
from hlodiff.cli.python_loops import PythonLoops
from hlodiff.ir.model import Module
from hlodiff.report.anatomy_words import Told, anatomy_json, listed, told
from hlodiff.store import Key, Tree, attach_source, read_snapshot


def file_reasons(path: Path, root: Path) -> dict[str, Any]:
    """What a program file says about itself.

    Args:
        path: of a program file.
        root: where Python files that it names are looked for.

    Returns:
        plain values: its name, everything found, and the same in words.
    """
    from hlodiff.ir import read

    return {"function": path.name, **_reasons(read(path), root)}


def snapshot_reasons(tree: Tree, key: Key, root: Path) -> dict[str, Any]:
    """What a recorded program says about itself; see `file_reasons`."""
    from hlodiff.ir import read_text

    snapshot = read_snapshot(tree, key)
    module = read_text(snapshot.stablehlo, path=f"{tree.where}/{key.folder}/stablehlo.mlir")
    module = attach_source(module, (snapshot.source or {}).get("stablehlo"))
    return {"function": key.function, "case": key.case, "target": key.target, **_reasons(module, root)}


def to_mend(text: str, root: Path) -> tuple[Told, ...]:
    """What a program holds more often or larger than it must and something can be done about.

    Args:
        text: of StableHLO, with its places in Python.
        root: where Python files that it names are looked for.

    Returns:
        what was found, with advice each.
    """
    from hlodiff.ir import read_text

    return tuple(one for one in told(anatomy(read_text(text), PythonLoops(root)), str(root)) if one.advice)


def _reasons(module: Module, root: Path) -> dict[str, Any]:
    found = anatomy(module, PythonLoops(root))
    words = [{"kind": one.kind, "what": one.what, "advice": one.advice} for one in told(found, str(root))]
    return {"stage": module.stage, **anatomy_json(found, str(root)), "words": words}


def reasons_text(reasons: Mapping[str, Any]) -> Iterator[str]:
    """The reasons as lines of text."""
    names = [reasons.get("function"), reasons.get("case")]
    target = [str(reasons["target"])] if reasons.get("target") else []
    yield "  ".join(["/".join(str(name) for name in names if name), *target])
    everything = [Told(row["kind"], row["what"], row["advice"]) for row in reasons["words"]]
    if not everything:
        yield "  nothing: no copies, no value computed twice, no large constant, no loop of known length"
    for one in listed(everything):
        yield f"  {one.kind}: {one.what}"
        if one.advice:
            yield f"    {one.advice}"
