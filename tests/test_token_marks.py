"""Which words of a line are marked as changed, in a terminal with colours and in the page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlodiff.differ import Edit, FieldChange, ModuleDiff, ProgramComparison, Site, diff
from hlodiff.hlo import read_hlo
from hlodiff.report import Line, Report, lay_out, to_form
from tests import shown
from tests.test_whose_line import PROGRAM, Sources, unary

_CODES = re.compile(r"\x1b\[([\d;]*)m")


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text between codes, and whether it is underlined."""
    on = False
    for number, part in enumerate(_CODES.split(text)):
        if number % 2:
            on = "4" in part.split(";")
        elif part:
            yield part, on


def marks(text: str) -> list[str]:
    """What is underlined, in the order in which it is printed."""
    return [words for words, is_marked in parts(text) if is_marked]


def colored(*lines: Line) -> list[str]:
    """Lines in a terminal with colours that is wide enough for each."""
    return lay_out(lines, width=10_000, color=True).split("\n")[: len(lines)]


def edited(old: str, new: str) -> list[str]:
    """A line of Python before and after an edit."""
    return colored(Line(0, f"- {old}", style="red", wrap=True), Line(0, f"+ {new}", style="green", wrap=True))


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("y = jax.nn.gelu(x)", "y = jax.nn.silu(x)", ("gelu", "silu")),
        ("scan(turn, x)", "scan(jax.checkpoint(turn), x)", ("turn", "jax.checkpoint(turn)")),
        ("x = a + b", "x = a", ("+ b", "")),
        ("f(a, a)", "f(a, a, a)", ("", ", a")),
        ("x.sum(axis=0)", "x.sum(axis=1)", ("0", "1")),
        ("return (", "pass (", ("", "")),
        ("same(x)", "same(x)", ("", "")),
        ("a" * 1500 + " b", "a" * 3000 + " b", ("", "")),
    ],
)
def test_lines_of_python(old: str, new: str, marked: tuple[str, str]) -> None:
    assert list(map(marks, edited(old, new))) == [[words] if words else [] for words in marked]


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_what_is_not_marked_is_equal(before: str, old: str, new: str) -> None:
    lines = edited(f"{before} {old} end", f"{before} {new} end")
    if any(map(marks, lines)):
        rest = ["".join(text for text, is_marked in parts(line) if not is_marked)[2:] for line in lines]
        assert rest[0].split() == rest[1].split()


def test_values() -> None:
    words = "changed 2x dot %d.1 f32[8]: sharding: P('data', None) -> P('data', 'model'); precision: a -> b"
    none = "added add f32[8]", "changed tanh -> exponential"
    found = colored(*(Line(0, one, wrap=True) for one in (words, *none)))
    assert list(map(marks, found)) == [["None", "'model'"], [], []]


def test_only_a_terminal_with_colours_has_marks() -> None:
    lines = [
        Line(4, "- y = jax.nn.gelu(x)", style="red", wrap=True),
        Line(4, "+ y = jax.nn.silu(x)", style="green", wrap=True),
        Line(4, "changed dot %d.1 f32[8]: shape: f32[8,2] -> f32[8,4]", ("model.py:3",), "yellow", wrap=True),
    ]
    for width in (100, 44):  # one row for each, and several
        colored = lay_out(lines, width=width, color=True)
        assert marks(colored) == ["gelu", "silu", "2", "4"]
        assert _CODES.sub("", colored) == lay_out(lines, width=width)
    assert marks(lay_out([lines[0], Line(2, "+ y = jax.nn.silu(x)", style="green")], width=80, color=True)) == []


def test_a_mark_goes_on_in_the_next_row() -> None:
    lines = [
        Line(0, "- value = call(first_argument, second_argument)", style="red", wrap=True),
        Line(0, "+ value = call(other_argument, another_argument)", style="green", wrap=True),
    ]
    words = marks(lay_out(lines, width=40, color=True))
    assert words == ["first_argument,", "second_argument", "other_argument,", "another_argument"]


def test_in_the_page_what_others_wrote_stays_text() -> None:
    sources = Sources()
    sources.lines = tuple(["x", "y", line] for line in ("f(<b>, x)", "f(<i>\x1b, x)"))
    body = f"h = f32[8]{{0}} tanh(s)\n  {unary('OPCODE', 3)}"
    old, new = (read_hlo(PROGRAM.format(size=8, body=body.replace("OPCODE", op))) for op in ("cosine", "exponential"))
    site = Site(0, 1, "e", "d.1", "dot", "%d.1 = f32[8]{0} dot(x)")
    change = FieldChange("shape", "f32[8,2]", "f32[8,4]")
    more = (
        Edit("changed", ("shape",), 1, ((site, site),), (change,)),
        Edit("added", (), 1, ((None, site),)),
    )
    written = ProgramComparison("f", "cpu", "stablehlo", "changed", diff(old, new))
    same = diff(shown.PROGRAM, shown.PROGRAM)
    made = ModuleDiff(shown.PROGRAM, shown.PROGRAM, more, write_script=same.write_script)
    compiled = ProgramComparison("f", "cpu", "compiled", "changed", made)
    page = to_form(Report("diff", "a", "b", (written, compiled), source_line=sources), "html")
    assert "f(&lt;<mark>b&gt;</mark>, x)" in page or "f(&lt;<mark>b</mark>&gt;, x)" in page
    assert "<i>" not in page and "\x1b" not in page
    assert "shape: f32[8,<mark>2</mark>] -&gt; f32[8,<mark>4</mark>]" in page
    assert re.search(r"\bdot [^<]*f32\[8\]<", page), "what was added has no mark"
