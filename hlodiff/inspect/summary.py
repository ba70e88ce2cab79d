"""`hlodiff show NAME`: the contents of one recorded program or program file, its picture, and why it is large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlodiff.differ.program_analysis import analyze_program
from hlodiff.hlo.model import STAGE_NAMES, STAGES, Module
from hlodiff.report.program_analysis import AnalysisNote, analysis_notes, listed, program_analysis_json
from hlodiff.report.wording import format_bytes, format_count
from hlodiff.snapshots import Key, RecordedTraces, Tree, attach_source, read_snapshot, table_in
from hlodiff.tracing.counts import format_counts
from hlodiff.workflows import PythonLoops

if TYPE_CHECKING:
    pass

_WIDTH = 100


def traces_text(one: RecordedTraces) -> Iterator[str]:
    """The recorded traces of a scenario, line by line."""
    yield f"{one.scenario}  traces of a scenario, jax {one.jax}"
    yield from (f"  {line}" for line in format_counts(one.counts, everything=True))


def file_summary(path: Path) -> dict[str, Any]:
    """The facts in a program file alone, in the form of a summary."""
    from hlodiff.differ.metrics import count, executed_table, metrics_of, raw_metrics
    from hlodiff.differ.placement import donations, placements
    from hlodiff.hlo import read

    module = read(path)
    counts = count(module)
    metrics = {k: v for k, v in {**raw_metrics(module), **metrics_of(counts)}.items() if v and "." not in k}
    return {
        "function": path.name,
        "op_counts": {module.stage: dict(sorted(counts.ops.items()))},
        "fusions": dict(sorted(counts.fusions.items())),
        "placement": {module.stage: placements(module)},
        "collectives": {family: dict(record) for family, record in sorted(counts.collectives.items())},
        "custom_calls": dict(sorted(counts.custom_calls.items())),
        "metrics": {module.stage: metrics},
        "executed": {module.stage: executed_table(module)},
        "donation": donations(module),
    }


def summary_text(summary: Mapping[str, Any]) -> Iterator[str]:
    """A summary, line by line; no type in it is trusted."""
    names = [summary.get("function"), summary.get("case")]
    yield "  ".join(["/".join(str(n) for n in names if n), *([str(summary["target"])] if "target" in summary else [])])
    for title, words in _rows(summary):
        if words:
            yield from _wrapped(title, words)


def _rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    yield "toolchain", [f"{key} {_short(value)}" for key, value in table_in(summary, "toolchain").items() if value]
    arguments = summary.get("arguments")
    rows = arguments if isinstance(arguments, list) else []
    yield "arguments", [_argument(row) for row in rows if isinstance(row, Mapping)]
    for stage, words in STAGE_NAMES.items():
        counts = table_in(table_in(summary, "op_counts"), stage)
        yield f"{words} ops", [f"{name} {count}" for name, count in sorted(counts.items(), key=_by_count)]
        metrics = table_in(table_in(summary, "metrics"), stage).items()
        yield f"{words} counts", [f"{_words(k)} {_amount(k, v)}" for k, v in metrics if not k.startswith("ops.")]
        executed = table_in(table_in(summary, "executed"), stage)
        yield f"{words} executed", [f"{_words(name)} {_executed(name, value)}" for name, value in executed.items()]
    yield "fusions", [f"{kind} {count}" for kind, count in table_in(summary, "fusions").items()]
    for stage, words in STAGE_NAMES.items():
        yield f"{words} placement", list(_placement(table_in(table_in(summary, "placement"), stage)))
    collectives = []
    for name, row in _tables(summary, "collectives"):
        asynchronous = f", {row['async']} of them async" if row.get("async") else ""
        collectives.append(f"{name} {row.get('count')} ({_bytes(row.get('bytes'))}{asynchronous})")
    yield "collectives", collectives
    yield "custom calls", [f"{name} {count}" for name, count in table_in(summary, "custom_calls").items()]
    yield "memory", [f"{_words(name)} {_bytes(value)}" for name, value in table_in(summary, "memory").items() if value]
    costs = table_in(summary, "cost")
    yield "XLA's cost", [f"{_words(name)} {_amount(name, value)}" for name, value in costs.items() if value]
    if any(table_in(table_in(summary, "metrics"), stage).get("loops") for stage in STAGE_NAMES):
        yield "note", ["counts and XLA's cost have each loop once; executed numbers are of one call of the program"]
    yield "donation", [f"argument {n} to {result}" for n, result in table_in(summary, "donation").items()]


def _tables(summary: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables inside a table, by name."""
    table = table_in(summary, name)
    return ((key, table_in(table, key)) for key in table)


def _executed(name: str, value: Any) -> str:
    """A number, a range (`12 to 90`, `at most 90`), or the known part and what each loop iteration adds."""
    show = _bytes if "bytes" in name else _number
    if not isinstance(value, Mapping):
        return _amount(name, value)
    least, most = value.get("at_least", 0), value.get("at_most")
    parts = [] if most is None and not least else [show(least)]
    if most is not None:
        parts = [f"{show(least)} to {show(most)}" if least else f"at most {show(most)}"]
    for loop, number in table_in(value, "per_turn").items():
        numbers = number if isinstance(number, list) else [number]
        parts.append(f"{' to '.join(map(show, numbers))} per turn of %{loop}")
    return " + ".join(parts)


def _by_count(item: tuple[str, Any]) -> tuple[float, str]:
    return (-item[1] if isinstance(item[1], (int, float)) else 0, item[0])


def _short(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _argument(row: Mapping[str, Any]) -> str:
    shape = row.get("shape")
    sizes = ",".join(map(str, shape)) if isinstance(shape, list) else ""
    more = [str(row[key]) for key in ("sharding", "memory_kind") if row.get(key)]
    more += ["donated"] if row.get("donated") else []
    return f"{row.get('path', '')} {row.get('dtype', '')}[{sizes}]" + (f" ({', '.join(more)})" if more else "")


def _placement(table: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{count} ops on {place}" for place, count in table_in(table, "compute").items())
    for space, row in _tables(table, "memory"):
        yield f"{_number(row.get('values'))} values, {_bytes(row.get('bytes'))} in {space}"
    for kind, word in (("parameters", "argument"), ("results", "result")):
        for number, row in _tables(table, kind):
            yield f"{word} {number}: {', '.join(f'{_words(key)} {value}' for key, value in row.items())}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _amount(name: str, value: Any) -> str:
    return _bytes(value) if "bytes" in name else _number(value)


def _bytes(value: Any) -> str:
    return format_bytes(value) if isinstance(value, (int, float)) else str(value)


def _number(value: Any) -> str:
    return format_count(value) if isinstance(value, (int, float)) else str(value)


def _wrapped(title: str, words: list[str]) -> Iterator[str]:
    line = f"  {title:<20}"
    for number, word in enumerate(words):
        piece = word if number == len(words) - 1 else word + ", "
        if len(line.strip()) and len(line) + len(piece.rstrip()) > _WIDTH and len(line) > 22:
            yield line.rstrip()
            line = " " * 22
        line += piece
    yield line.rstrip()


# --- The programs to draw: `hlodiff show NAME --format html`.


def file_picture(path: Path) -> str:
    """The page of one program file.

    Args:
        path: HLO or StableHLO, as text or proto.

    Raises:
        HlodiffError: the file cannot be read.
    """
    from hlodiff.hlo import read
    from hlodiff.report.html.picture import PicturedProgram, to_picture

    return to_picture([PicturedProgram(path.name, None, read(path))], str(Path.cwd()))


def snapshot_picture(tree: Tree, keys: Sequence[Key], root: Path) -> str:
    """The page of recorded programs, compiled before StableHLO.

    Args:
        tree: a folder or a git revision.
        keys: the programs.
        root: the folder that Python file names are relative to.

    Raises:
        StoreError: a snapshot cannot be read.
    """
    from hlodiff.hlo import read_text
    from hlodiff.report.html.picture import PicturedProgram, to_picture

    found = []
    for key in keys:
        snapshot = read_snapshot(tree, key)
        memory = snapshot.summary.get("memory")
        kinds = {str(k): v for k, v in memory.items() if isinstance(v, int)} if isinstance(memory, dict) else {}
        for stage in reversed(STAGES):
            text = snapshot.stablehlo if stage == "stablehlo" else snapshot.compiled
            module = read_text(text, path=f"{tree.where}/{key.folder}: {stage}")
            module = attach_source(module, (snapshot.source or {}).get(stage))
            found.append(PicturedProgram(key.name, key.target, module, kinds if stage == "compiled" else {}))
    return to_picture(found, str(root))


# --- What makes one program larger than necessary: `hlodiff show NAME --why`.


def file_reasons(path: Path, root: Path) -> dict[str, Any]:
    """The reasons for the size of a program file.

    Args:
        path: the program file.
        root: the folder of the Python files that it refers to.

    Returns:
        plain values: its name, all findings, and the same as sentences.
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
    """The reasons why a program is larger than necessary, if there is advice.

    Args:
        text: StableHLO with source locations.
        root: the folder of the Python files that it refers to.

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
