"""Report on how programs grow with a size: a table of counts, the causes, and notes on the largest program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hlodiff.differ.growth import WORDS, Growth, Series
from hlodiff.report.lines import code, escape_markdown, json_text, printable
from hlodiff.report.program_analysis import (
    AnalysisNote,
    advice_for,
    analysis_notes,
    format_copies,
    listed,
    place_of,
    program_analysis_json,
)
from hlodiff.report.wording import format_bytes

FORMAT_VERSION = "1.0"
_MOST_LINES = 5
Recorded = Mapping[str, str]


def growth_text(growths: Sequence[tuple[Growth, Recorded]], root: str = "") -> str:
    """The report for a terminal.

    Args:
        growths: growths with the recorded class of each quantity, empty if nothing is recorded.
        root: the project's folder.

    Returns:
        text ending in a newline.
    """
    blocks = ["".join(printable(line) + "\n" for line in _text(growth, old, root)) for growth, old in growths]
    return "\n".join(blocks)


def _text(growth: Growth, recorded: Recorded, root: str) -> Iterator[str]:
    yield f"{growth.name}  grows with `{growth.parameter}`, lowered for {growth.target}"
    rows = list(_rows(growth, recorded))
    widths = [max(len(row[n]) for row in rows) for n in range(len(growth.sizes) + 1)]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}", *(f"{row[n]:>{widths[n]}}" for n in range(1, len(widths)))]
        yield f"  {'  '.join(cells)}  {row[-1]}".rstrip()
    if growth.same:
        yield f"  the program is the same at every size: does `{growth.parameter}` reach the arguments?"
    yield from (f"  {line}" for line in causes(growth, root))
    found = list(_further(growth, root))
    if found:
        yield f"  at {growth.parameter}={growth.sizes[-1]}"
    for one in found:
        yield f"    {one.kind}: {one.what}"
        if one.advice:
            yield f"      {one.advice}"


def _rows(growth: Growth, recorded: Recorded) -> Iterator[list[str]]:
    yield [growth.parameter, *(f"{size:,}" for size in growth.sizes), ""]
    for series in growth.series:
        old = recorded.get(series.name)
        note = f", recorded as {old}" if old and old != series.fit.kind else ""
        yield [WORDS[series.name], *_values(series), _fit(series) + note]
    for series in growth.compiled:
        yield [f"compiled {WORDS[series.name]}", *_values(series), _fit(series)]


def _values(series: Series) -> list[str]:
    large = series.name.endswith("_bytes")
    return [format_bytes(value) if large else f"{value:,}" for value in series.values]


def _fit(series: Series) -> str:
    fit = series.fit
    each = format_bytes(fit.slope) if series.name.endswith("_bytes") else f"{fit.slope:,.4g}"
    return f"{fit.words}, {each} for each" if fit.slope else fit.words


def _further(growth: Growth, root: str) -> Iterator[AnalysisNote]:
    """Notes on the largest program, except copies, which are listed by size."""
    known = [one.repeat for one in growth.repeats]
    others = tuple(one for one in growth.largest.repeats if one not in known)
    return listed(list(analysis_notes(replace(growth.largest, repeats=others), root, growth.tables)))


def causes(growth: Growth, root: str = "") -> Iterator[str]:
    """Causes of growth: copied bodies, then lines not explained by these bodies.

    Args:
        growth: growth of one case.
        root: the project's folder.

    Returns:
        lines of text, each cause followed by its advice.
    """
    for one in growth.repeats[:_MOST_LINES]:
        yield format_copies(one.repeat, root, ", ".join(f"{count:,}" for count in one.copies))
        yield f"  {advice_for(one.repeat)}"
    copied = [one.repeat for one in growth.repeats]
    inside = {(r.where.file, line) for r in copied for line in range(r.where.first, r.where.last + 1)}
    inside |= {(c.file, c.first) for r in copied for c in r.callers}
    others = [line for line in growth.lines if (line.where.file, line.where.first) not in inside]
    for line in others[: _MOST_LINES if not copied else 0]:
        values = ", ".join(f"{value:,}" for value in line.values)
        yield f"{place_of(line.where, root)}: {values} operations ({line.fit.words})"


def growing_tables(growth: Growth, root: str = "") -> Iterator[str]:
    """The large constants of the largest program, if the bytes of constants grow.

    Args:
        growth: growth of one case.
        root: the project's folder.

    Returns:
        lines of text as from `causes`; none if constants keep their size.
    """
    if growth.quantity("constant_bytes").fit.kind == "constant":
        return
    at = f"{growth.parameter}={growth.sizes[-1]}"
    for one in listed(
        [one for one in analysis_notes(growth.largest, root, growth.tables) if one.kind == "large constant"]
    ):
        yield f"{one.kind} at {at}: {one.what}"
        yield from [f"  {one.advice}"] if one.advice else []


def growth_markdown(growths: Sequence[tuple[Growth, Recorded]], root: str = "") -> str:
    """The report as Markdown.

    Args:
        growths: growths with the recorded class of each quantity.
        root: the project's folder.

    Returns:
        text ending in a newline; untrusted names are escaped.
    """
    return "\n".join(line for growth, recorded in growths for line in _markdown(growth, recorded, root)) + "\n"


def _markdown(growth: Growth, recorded: Recorded, root: str) -> Iterator[str]:
    yield f"### {code(growth.name)} grows with {code(growth.parameter)}"
    yield ""
    head, *rows = _rows(growth, recorded)
    yield "| " + " | ".join(escape_markdown(cell) for cell in head) + " growth |"
    yield "| --- |" + " ---: |" * len(growth.sizes) + " --- |"
    yield from ("| " + " | ".join(escape_markdown(cell) for cell in row) + " |" for row in rows)
    yield ""
    items = [line.strip() for line in causes(growth, root)]
    items += [f"{one.kind}: {one.what}" for one in _further(growth, root)]
    yield from (f"- {escape_markdown(line)}" for line in items)
    yield ""


def growth_json(growths: Sequence[tuple[Growth, Recorded]], root: str = "") -> str:
    """The complete report as JSON.

    Args:
        growths: growths with the recorded class of each quantity.
        root: the project's folder.

    Returns:
        one JSON object, ending in a newline.
    """
    value = {"format_version": FORMAT_VERSION, "growths": [_json(one, recorded, root) for one, recorded in growths]}
    return json_text(value)


def _json(growth: Growth, recorded: Recorded, root: str) -> dict[str, Any]:
    return {
        "name": growth.name,
        "target": growth.target,
        "parameter": growth.parameter,
        "sizes": list(growth.sizes),
        "stablehlo": {one.name: _series_json(one, recorded.get(one.name)) for one in growth.series},
        "compiled": {one.name: _series_json(one, None) for one in growth.compiled},
        "same_program": growth.same,
        "copies": [
            {"where": format_copies(one.repeat, root), "copies": list(one.copies), "operations": one.repeat.body}
            for one in growth.repeats
        ],
        "lines": [
            {"where": place_of(line.where, root), "operations": list(line.values), "class": line.fit.kind}
            for line in growth.lines
        ],
        "largest": program_analysis_json(growth.largest, root, growth.tables),
    }


def _series_json(series: Series, recorded: str | None) -> dict[str, Any]:
    fit = series.fit
    found = {"values": list(series.values), "class": fit.kind, "exponent": fit.exponent, "for_each": fit.slope}
    return {**found, "recorded": recorded}
