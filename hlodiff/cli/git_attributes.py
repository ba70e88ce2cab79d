"""Our lines in .gitattributes: one block between two comments, which `uninstall` takes out again to the byte."""

from __future__ import annotations

import re

from hlodiff.cli.git_drivers import FACTS, PROGRAMS, SOURCES

_BEGIN = "# hlodiff git install: begin (`hlodiff git uninstall` takes these lines out)"
_END = "# hlodiff git install: end"
_BLOCK = re.compile(
    r"^# hlodiff git install: begin[^\n]*\n(?:[^\n]*\n)*?# hlodiff git install: end\r?(?:\n|\Z)", re.MULTILINE
)
_PACKED = f"-text diff={PROGRAMS} merge={PROGRAMS} linguist-generated"
_TEXT = f"text eol=lf diff={PROGRAMS} merge={PROGRAMS} linguist-generated"
_FACTS = f"text eol=lf diff={FACTS} merge={PROGRAMS}"
# A reviewer reads programs as a report and the YAML files as they are: those stay open on a pull request's page.
_ROWS = (
    ("*.hlo", _TEXT),
    ("*.mlir", _TEXT),
    ("*.hlo.gz", _PACKED),
    ("*.mlir.gz", _PACKED),
    ("source.json", f"text eol=lf -diff merge={PROGRAMS} linguist-generated"),
    ("summary.yaml", _FACTS),
    ("traces.yaml", _FACTS),
    ("growth.yaml", _FACTS),
)
PROBES = {
    "f/cpu/compiled.hlo": PROGRAMS, "f/cpu/stablehlo.mlir": PROGRAMS, "f/cpu/compiled.hlo.gz": PROGRAMS,
    "f/cpu/stablehlo.mlir.gz": PROGRAMS, "f/cpu/source.json": SOURCES, "f/cpu/summary.yaml": FACTS,
    "f/traces.yaml": FACTS, "f/growth.yaml": FACTS,
}  # fmt: skip
"""Files of a snapshots folder of which git is asked what it takes their attributes to be, and their diff drivers."""


def rows(below: str) -> tuple[str, ...]:
    """Our lines.

    Args:
        below: the snapshots folder below the folder of .gitattributes; "" where it is that folder.

    Returns:
        one line for each kind of file, without line ends.

    Example:
        >>> rows("snapshots")[0]
        'snapshots/**/*.hlo text eol=lf diff=hlodiff merge=hlodiff linguist-generated'
        >>> rows("my [old] snapshots")[5]
        '"my \\\\\\\\[old] snapshots/**/summary.yaml" text eol=lf diff=hlodiff-facts merge=hlodiff'
    """
    return tuple(f"{_pattern(below, name)} {attributes}" for name, attributes in _ROWS)


def own_row(below: str) -> str:
    """The line of this clone alone: whoever has no driver sees of source.json that it differs, not its one long line.

    Args:
        below: the snapshots folder below the top of the work tree.

    Example:
        >>> own_row("snapshots")
        'snapshots/**/source.json diff=hlodiff-source'
    """
    return f"{_pattern(below, 'source.json')} diff={SOURCES}"


def with_row(text: str, row: str) -> str:
    """The text of .git/info/attributes with a line of ours as its last.

    Example:
        >>> with_row("*.png binary", "a b")
        '*.png binary\\na b'
    """
    return f"{text}\n{row}" if text and not text.endswith("\n") else f"{text}{row}\n"


def without_row(text: str, row: str) -> str:
    """The same as it was before us.

    Example:
        >>> without_row(with_row("*.png binary", "a b"), "a b")
        '*.png binary'
    """
    if text.endswith(f"\n{row}"):
        return text.removesuffix(f"\n{row}")
    return "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\r\n") != row)


def _pattern(below: str, name: str) -> str:
    if not below:
        return name
    # What git would take for a wildcard, or a name that begins like a comment, is meant as it stands.
    folder = re.sub(r"([\\*?\[])", r"\\\1", below)
    folder = f"/{folder}" if folder[0] in '#!"' else folder
    pattern = f"{folder}/**/{name}"
    if re.search(r"[\s\"]", pattern):
        escaped = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
        return f'"{escaped}"'
    return pattern


def with_block(text: str, below: str) -> str:
    """The text of .gitattributes with our lines as they should be: in their place, or at its end.

    Args:
        text: as it is, "" where there is no file.
        below: see `rows`.

    Example:
        >>> with_block("*.png binary", "snapshots").split("\\n")[1]
        '# hlodiff git install: begin (`hlodiff git uninstall` takes these lines out)'
    """
    end = "\r\n" if "\r\n" in text else "\n"
    block = end.join([_BEGIN, *rows(below), _END])
    found = _BLOCK.search(text)
    if found:
        last = end if found.group().endswith("\n") else ""
        return text[: found.start()] + block + last + text[found.end() :]
    if text and not text.endswith("\n"):
        return text + end + block  # a last line without an end had none before us: so it is known again
    return text + block + end


def without_block(text: str) -> str:
    """The text of .gitattributes as it was before us.

    Args:
        text: with our lines, or without.

    Example:
        >>> without_block(with_block("*.png binary", "snapshots"))
        '*.png binary'
    """
    found = _BLOCK.search(text)
    if not found:
        return text
    before, after = text[: found.start()], text[found.end() :]
    if not found.group().endswith("\n"):
        before = before.removesuffix("\n").removesuffix("\r")
    return without_block(before + after)


def block_of(text: str) -> tuple[str, ...] | None:
    """Our lines as they stand; None where there are none.

    Args:
        text: of .gitattributes.
    """
    found = _BLOCK.search(text)
    return tuple(found.group().splitlines()[1:-1]) if found else None
