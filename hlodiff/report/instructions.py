"""One instruction in a few words: what it does first, its name last. Operand names tell a reviewer nothing."""

from __future__ import annotations

import re

from hlodiff.diff.result import Site

# Layouts that say no more than the order of dimensions and tiles; a memory space (`S(1)`) stays.
_LAYOUT = re.compile(r"(?<=\])\{(?![^{}]*S\()[^{}]*\}")
_MOST_ELEMENTS, _SHOWN_ELEMENTS = 8, 4
# What no reviewer reads: numbers of channels and the compiler's notes; nor the names of computations (`%inner`).
_UNTOLD = (
    "channel_id",
    "backend_config",
    "metadata",
    "use_global_device_ids",
    "sharding",
    "mhlo.frontend_attributes",
    "frontend_attributes",
)
# `#stablehlo<precision HIGH>`, and what holds several values: `#stablehlo.dot<lhs_contracting_dimensions = [1]>`.
_ENUM = re.compile(r"#stablehlo<\w+ (\w+)>")
_NESTED = re.compile(r"#stablehlo\.\w+<([^<>]*)>")


def named(site: Site | None) -> str:
    """What a changed instruction is called: `multiply %multiply.c482 f32[32,64]`.

    Example:
        >>> named(Site(0, 0, "main", "t", "tanh", "%t = f32[8]{0} tanh(%p)"))
        'tanh %t f32[8]'
    """
    if site is None:
        return ""
    return " ".join(filter(None, (site.opcode, f"%{site.name}", _shape(site))))


def added_in_words(site: Site) -> str:
    """An instruction that came or went: its opcode, shape and what its attributes say of it.

    Example:
        >>> text = "%a = f32[4]{0} all-gather(%p), channel_id=1, replica_groups={{0,1}}, dimensions={0}"
        >>> added_in_words(Site(0, 0, "main", "a", "all-gather", text))
        'all-gather %a f32[4], replica_groups={{0,1}}, dimensions={0}'
        >>> added_in_words(Site(0, 0, "main", "c", "constant", "%c = f32[] constant(0.5)"))
        'constant %c f32[] (0.5)'
    """
    operands, _ = _parts(site)
    literal = f" ({operands})" if site.opcode in ("constant", "parameter") and operands else ""
    return ", ".join([named(site) + literal, *attributes_in_words(site)])


def attributes_in_words(site: Site) -> list[str]:
    """What an instruction's attributes say of it that a reviewer reads.

    Example:
        >>> attributes_in_words(Site(0, 0, "main", "t", "transpose", "%t = f32[2]{0} transpose(%p), dimensions={0}"))
        ['dimensions={0}']
    """
    return [short_attribute(part) for part in _parts(site)[1] if _is_told(site, part)]


def short_attribute(text: str) -> str:
    """An attribute without MLIR's names of StableHLO's own kinds of values.

    Example:
        >>> short_attribute("comparison_direction=#stablehlo<comparison_direction LT>")
        'comparison_direction=LT'
        >>> short_attribute("#stablehlo.dot<lhs_contracting_dimensions = [1]>")
        'lhs_contracting_dimensions = [1]'
    """
    return _NESTED.sub(r"\1", _ENUM.sub(r"\1", text))


def shape_in_words(site: Site) -> str:
    """The shape of an instruction's result without its layout.

    Example:
        >>> shape_in_words(Site(0, 0, "main", "t", "tanh", "%t = f32[8]{0} tanh(%p)"))
        'f32[8]'
    """
    return _shape(site)


def _is_told(site: Site, attribute: str) -> bool:
    name, _, value = attribute.partition("=")
    return _is_sdy(site, attribute) or not (name in _UNTOLD or value.startswith(("%", "{%")))


def _is_sdy(site: Site, part: str) -> bool:
    return site.opcode.startswith("sdy.") and part.startswith("sharding=")


def _shape(site: Site) -> str:
    head = site.text.partition(f" {site.opcode}(")[0]
    shape = head.partition(" = ")[2] if " = " in head else ""
    return _few_elements(_LAYOUT.sub("", shape))


def _few_elements(shape: str) -> str:
    """The shape of a tuple without most of its elements, where nobody would read them all."""
    if not shape.startswith("(") or shape.count("[") <= _MOST_ELEMENTS:
        return shape
    depth, ends = 0, []
    for index, char in enumerate(shape[1:-1], 1):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            ends.append(index)
    if len(ends) < _MOST_ELEMENTS:
        return shape
    return f"{shape[: ends[_SHOWN_ELEMENTS - 1]]} and {len(ends) + 1 - _SHOWN_ELEMENTS} more)"


def _parts(site: Site) -> tuple[str, list[str]]:
    """The text between the parentheses, and the attributes behind them, split at commas outside of brackets."""
    rest = site.text.partition(f" {site.opcode}(")[2]
    depth, quoted, start = 1, False, 0
    inside = ""
    parts: list[str] = []
    for index, char in enumerate(rest):
        quoted ^= char == '"' and rest[index - 1 : index] != "\\"
        if quoted:
            continue
        depth += (char in "([{<") - (char in ")]}" or (char == ">" and rest[index - 1] != "-"))
        if depth == 0 and not inside and not parts and start == 0:
            inside, start = rest[:index], index + 1
        elif depth == 0 and start and char == ",":
            parts.append(rest[start:index])
            start = index + 1
    if start:
        parts.append(rest[start:])
    return inside, [part.strip() for part in parts if part.strip()]
