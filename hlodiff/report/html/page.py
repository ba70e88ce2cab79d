"""The page as one file: its own style and scripts, the result as data, and nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from hlodiff.hlo.model import STAGE_NAMES
from hlodiff.report.addresses import fragment, program_address
from hlodiff.report.edits import format_beside, format_left, format_listed
from hlodiff.report.function_view import MANY, ChangedLine, ChangeView
from hlodiff.report.functions import verdict_rows, without_lines
from hlodiff.report.grouping import REPLACED
from hlodiff.report.headline import format_meanings, format_totals
from hlodiff.report.html.bodies import BodyStore, bodies_of
from hlodiff.report.html.limits import PAGE_LIMITS, PageLimits
from hlodiff.report.html.overview import (
    finding_of,
    options_of,
    overview_columns,
    overview_findings,
    overview_rows,
    plain,
    scenarios_of,
    tiles_of,
)
from hlodiff.report.lines import Span, changed_spans, value_spans
from hlodiff.report.numbers import format_by, format_number
from hlodiff.report.parts import ReportParts
from hlodiff.report.report import Report
from hlodiff.report.verdict import MARKS, VERDICT_NAMES
from hlodiff.report.view import ReportView
from hlodiff.report.wording import split_next

MOST_VERDICTS = 100
"""Rows of the table of verdicts; the table of programs has every one."""
MOST_FUNCTIONS = 30
"""Functions of which the first view says what changed, the worst; each program says it too."""
# In this order, as one script.
_SCRIPTS = ("dom", "table", "tokens", "rows", "folds", "listing", "changes", "drawing", "numbers", "program", "start")


def to_page(
    report: Report,
    limits: PageLimits = PAGE_LIMITS,
    *,
    parts: ReportParts | None = None,
    passes: str = "",
) -> str:
    """The whole result as one HTML file that needs no other, no network and no server.

    Args:
        report: what a command found out.
        limits: how much goes into the page; the page says what does not.
        parts: those of the report, if shared among several forms.
        passes: the title, where the programs of the report are one program after each of XLA's passes: there is a
            slider over them, and a chosen instruction says where it comes from.

    Returns:
        HTML; the same bytes for the same report.

    Example:
        >>> to_page(Report("diff", "a", "b", ())).startswith("<!DOCTYPE html>")
        True
    """
    view = (parts or ReportParts(report)).view
    bodies = bodies_of(report, limits)
    return page_of(
        "page.html.jinja",
        script_of((*_SCRIPTS[:-1], "passes", _SCRIPTS[-1]) if passes else _SCRIPTS),
        bodies=[(one.type, Markup(one.text)) for one in bodies.stored],
        passes=passes,
        **_values(report, view, bodies, limits, bool(passes)),
    )


def page_of(template: str, script: str, **values: Any) -> str:
    """One file from a template of ours, with our style and a script of ours, and a policy that allows nothing else.

    Args:
        template: its name in `assets`.
        script: from `script_of`.
        values: what stands in it; what is no Markup is escaped.
    """
    style = _style()
    page = (
        _environment()
        .get_template(template)
        .render(policy=content_policy(style, script), style=Markup(style), script=Markup(script), **values)
    )
    return page.rstrip("\n") + "\n"


def _values(report: Report, view: ReportView, bodies: BodyStore, limits: PageLimits, in_order: bool) -> dict[str, Any]:
    rows = overview_rows(report, view, bodies.of_program, in_order)
    shown = rows[: limits.programs]
    first = overview_findings(view)
    listed = [one for one in view.functions if not one.folded]
    verdicts = verdict_rows(view.functions, view.programs, view.command)
    return {
        "view": view,
        "totals": format_totals(replace(view, next="")),
        "many": MANY,
        "tiles": tiles_of(rows),
        "marks": MARKS,
        "verdict_names": VERDICT_NAMES,
        "split_next": split_next,
        "address_of": program_address,
        "verdicts": verdicts[:MOST_VERDICTS] if len(view.functions) > 1 else (),
        "functions": [] if in_order else [without_lines(one, view.written) for one in listed[:MOST_FUNCTIONS]],
        "words_of": _words_of,
        "left_of": format_left,
        "sources_of": _sources_of,
        "beside_of": format_beside,
        "number_of": lambda number: (format_number(number), format_by(number)),
        "stage_names": STAGE_NAMES,
        "rows": shown,
        "hidden_rows": len(rows) - len(shown),
        "options": options_of(shown),
        "columns": overview_columns(shown),
        "meanings": format_meanings(view.programs),
        "scenarios": scenarios_of(report),
        "findings": [finding_of(finding, shown) for finding in first],
        "further": [finding_of(finding, shown) for finding in view.findings if finding not in first],
    }


def _words_of(change: ChangeView) -> Markup:
    """A change beside its sign, with what differs in its values marked; what was replaced by what needs the word."""
    words = plain(format_listed(change))
    words = words if change.kind == REPLACED else words.partition(" ")[2]
    return _marked(words, value_spans(words) if change.kind in ("changed", "moved") else ())


def _sources_of(line: ChangedLine) -> list[tuple[Markup, Markup]]:
    """The edited lines of Python before and after, with the words marked that differ."""
    found = []
    for before, after in zip(line.old_sources, line.new_sources, strict=False):
        old, new = plain(before), plain(after)
        spans = changed_spans(old, new)
        found.append((_marked(old, spans[:1]), _marked(new, spans[1:])))
    return found


def _marked(text: str, spans: Iterable[Span]) -> Markup:
    """A harmless text, escaped, with parts of it marked."""
    found, at = Markup(), 0
    for start, end in spans:
        if end > start:
            found += Markup("{}<mark>{}</mark>").format(text[at:start], text[start:end])
            at = end
    return found + text[at:]


def content_policy(style: str, script: str) -> str:
    """What the page may load: nothing, but the one style and the one script that it holds itself.

    Example:
        >>> content_policy("", "").split("; ")[0]
        "default-src 'none'"
    """
    rules = ["default-src 'none'", f"style-src '{_hash(style)}'", f"script-src '{_hash(script)}'", "base-uri 'none'"]
    return "; ".join([*rules, "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"])


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _style() -> str:
    return "\n" + _asset("page.css")


@cache
def script_of(names: tuple[str, ...]) -> str:
    """Scripts of `assets` as one, in this order."""
    text = "\n".join(_asset(f"{name}.js") for name in names)
    return f'\n(() => {{\n"use strict";\n{text}}})();\n'


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every word that goes into the page, whoever wrote it; escaping comes after.
        finalize=lambda value: value if isinstance(value, (Markup, int)) else plain(value),
    )
    environment.filters["fragment"] = fragment
    environment.filters["grouped"] = lambda count: f"{count:,}"
    return environment
