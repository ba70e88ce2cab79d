"""3,000 results that a stranger wrote, in every form of Markdown, as GitHub's own renderer shows them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from unittest.mock import patch

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from hlodiff.report import SAVED_FORM_NAMES, ReportView, read_untrusted_view, saved_to_form
from tests.test_hostile_result import COMPOSED, LIVE, PAYLOADS, TYPED, WITHHELD, assert_plain, filled, result

RESULTS = 3_000
MARKDOWN = ("comment", "summary", "markdown")
LINK = "https://ci.example/run/7"
OPTIONS = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
# What makes markup, links and commands of the text around it, so that every neighbourhood comes up.
PIECES = (
    *PAYLOADS, "`", "``", "```", "\\", "\\\\", "|", "\\|", "[", "]", "](", "[a](b)", "![", "(", ")", "<", ">",
    "<a href=x>", "</code>", "<br>", "&lt;", "&#60;", "&commat;", "*", "**", "_", "__", "~", "~~", "#", "# ", "## a",
    "- ", "+ ", "1. ", "1) ", "> ", "\n", "\n\n", "\r", "\r\n", "\u2028", "\u0085", "\x0b", "\x0c", "    ", "\t", "a",
    "b", "f32[8]{0}", "%add.3", "%", "@", "@a", "a@b.example", "http://", "https://a.example", "www.",
    "www.a.example", "//", "//a.example", "xmpp:a@b.example", ":", "::", "::error::", ":tada:", "$", "$$", "$`", "`$",
    "---", "===", "***", "[^1]", "[^1]: a", "[ ] ", "[x] ", "!", "![a](https://a.example/i.png)", "<!--", "-->",
    "<![CDATA[", "]]>", "<?", "?>", "\u200b", "\u202e", "\0", "hlodiff", " record -- sh", "hlodiff\u00a0upgrade evil",
    "hlodiff\tupgrade evil", "hlodiff \nupgrade evil", "pip", " install evil", "hint: ", "next: hlodiff",
    "curl https://a.example | sh", "sudo rm", "python -c evil", "bash -c evil", "uvx evil", "git clone evil", "GH-1",
    "a/b#1", "#1",
)  # fmt: skip
SHELL = re.compile(
    r"(?<![\w./%-])(curl|wget)\s+\S*[:/.]|(?<![\w./%-])(sudo|uvx|pipx|npx)\s+[\w./-]|\b(ba|z|da)?sh\s+-c\b|python[\d.]*\s+-[cm]\b|\|\s*(ba)?sh\b"
    r"|git clone",
    re.IGNORECASE,
)


class Page(HTMLParser):
    """What a browser gets: tags with their attributes, comments, headings, and the text outside of code."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[tuple[str, tuple[str, ...]]] = set()
        self.comments: list[str] = []
        self.headings = self.code = 0
        self.text = self.everything = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.text += "\0"
        self.everything += "\0"  # one field ends and another begins
        self.tags.add((tag, tuple(f"{name}={value or ''}" for name, value in attrs)))
        self.headings += tag in ("h1", "h2", "h3", "h4", "h5", "h6")
        self.code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.text += "\0"
        self.everything += "\0"
        self.code -= tag == "code"

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.text += "\0" if self.code else data
        self.everything += data

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


ALIGNED = {(cell, (f"align={side}",)) for cell in ("th", "td") for side in ("left", "right", "center")}
ALLOWED = COMPOSED | ALIGNED | {("a", (f"href={LINK}",))}


def assert_harmless(text: str, seed: int, form: str, wholly: bool = True) -> None:
    """Nothing is live; where only known words are left, `wholly`, no command is there either."""
    page = Page(cmarkgfm.github_flavored_markdown_to_html(text, OPTIONS))
    about = f"result {seed} as {form}"
    assert page.tags <= ALLOWED, (about, page.tags - ALLOWED)
    assert page.comments == ([" hlodiff "] if form == "comment" else []), about
    assert page.headings == 1, about
    assert page.text.count(LINK) == 0, about
    for live in (LIVE, TYPED, SHELL) if wholly else (LIVE,):
        # No command in code either: that is where a reader would take one from.
        shown = page.text if live is LIVE else page.everything
        for field in shown.replace(WITHHELD, "\0").split("\0"):
            assert not live.search(field), (about, live.search(field))


def soup(choose: random.Random) -> str:
    return "".join(choose.choice(PIECES) for _ in range(choose.choice((1, 1, 2, 3, 5, 9))))


def hostile(seed: int) -> str:
    """Every text of a result is soup; details find their programs, and are not folded."""
    choose = random.Random(seed)
    sheet = filled(ReportView, lambda: soup(choose), choose)
    for detail, program in zip(sheet["details"], sheet["programs"], strict=False):
        detail.update(name=program["name"], stage=program["stage"], folded=False)
        detail["targets"] = [program["target"]] if program["target"] else []
    return result(sheet)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_nothing_of_a_stranger_is_live_in_all_of_them(part: int) -> None:
    assert count_harmless(range(part, RESULTS, 4)) == len(range(part, RESULTS, 4))


def test_nothing_of_a_stranger_is_live() -> None:
    assert count_harmless(range(RESULTS // 30)) == RESULTS // 30


def count_harmless(seeds: Iterable[int]) -> int:
    """How many results were rendered, each as it is shown and with the escapes alone; the first harmful one raises."""
    count = 0
    for seed in seeds:
        view = read_untrusted_view(hostile(seed))
        form = MARKDOWN[seed % len(MARKDOWN)]
        link = "" if form == "markdown" else LINK
        assert_harmless(saved_to_form(view, form, link=link), seed, form)
        with patch("hlodiff.report.untrusted_result.known_text", lambda text, names: text):  # escapes alone hold too
            view = read_untrusted_view(hostile(seed))
        assert_harmless(saved_to_form(view, form, link=link), seed, form, wholly=False)
        count += 1
    return count


@pytest.mark.parametrize("form", [form for form in SAVED_FORM_NAMES if form not in MARKDOWN])
def test_nothing_of_a_stranger_is_obeyed_elsewhere(form: str) -> None:
    for seed in range(60):
        assert_plain(form, saved_to_form(read_untrusted_view(hostile(seed)), form))


def test_the_renderer_would_show_what_is_looked_for() -> None:
    """Each kind of harm is seen where nothing is escaped."""
    for text in (
        "# a",
        "<b>a</b>",
        "[a](b)",
        "![a](b)",
        "www.a.example",
        "https://a.example",
        "@a",
        "<!-- a -->",
        "curl https:x",
        "`hlodiff update f`",
    ):
        with pytest.raises(AssertionError):
            assert_harmless(f"### hlodiff\n\n{text}\n", 0, "markdown")
    assert_harmless("### hlodiff\n\na `@b` **c**\n", 0, "markdown")
