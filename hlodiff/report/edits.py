"""Edits as text: what changed, and what it costs."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import prod

from hlodiff.differ.edits import INSIDE, LEFT_OVER, OF_COMPUTATION, OF_WHOLE
from hlodiff.differ.placement import format_partition, format_precision, resharded_values, shardings_of_values
from hlodiff.differ.prepare import CHANNELS
from hlodiff.differ.result import Cost, Edit, FieldChange, FusionChange, Site
from hlodiff.hlo.collectives import parse_groups
from hlodiff.hlo.metadata import called_function, is_path
from hlodiff.hlo.model import CALLS
from hlodiff.report.collective_arrays import arrays_of, format_arrays, format_other_arrays
from hlodiff.report.function_view import ChangeView, StageView
from hlodiff.report.wording import OF_LOOPS, format_bytes, format_count, format_pair, format_sides, many

# Layouts with only the order of dimensions and tiles; one with a memory space (`S(1)`) is kept.
_LAYOUT = re.compile(r"(?<=\])\{(?![^{}]*S\()[^{}]*\}")
_MOST_ELEMENTS, _SHOWN_ELEMENTS = 8, 4
# Attributes that no reviewer reads: channel numbers, compiler notes, and names of computations (`%inner`).
_UNTOLD = (
    "channel_id",
    "channel_handle",
    "backend_config",
    "metadata",
    "use_global_device_ids",
    "sharding",
    "mhlo.frontend_attributes",
    "frontend_attributes",
)
# `#stablehlo<precision HIGH>`, and one with several values: `#stablehlo.dot<lhs_contracting_dimensions = [1]>`.
_ENUM = re.compile(r"#stablehlo<\w+ (\w+)>")
_NESTED = re.compile(r"#stablehlo\.\w+<([^<>]*)>")
# `array<i64: 0, 1>`; `dense<[[0, 1]]> : tensor<1x2xi64>`; `dense<0> : tensor<2x2xi64>`, a splat of four zeros.
_ARRAY = re.compile(r"\barray<\w+(?:: ?([^<>]*))?>")
_DENSE = re.compile(r"\bdense<(\[[^<>]*\])>(?: ?: ?tensor<[\w?]+>)?")
_SPLAT = re.compile(r"\bdense<([\w.+-]+)> ?: ?tensor<((?:\d++x)++)\w+>")
_TYPED = re.compile(r"(?<=\d) : i\d+$")  # `dimension = 0 : i64`: the width of an integer is not interesting
_MOST_OF_A_SPLAT = 16  # elements that are written out


_JITTED = re.compile(r"\bjit\(([\w<>.]+)\)")


def jitted_in(op_name: str | None) -> str:
    """The innermost jitted function of a scope, other than the whole program.

    Example:
        >>> jitted_in("jit(step)/jvp(jit(silu))/exp"), jitted_in("jit(silu)"), jitted_in("jit(step)/jvp()/mul")
        ('silu', 'silu', '')
    """
    names = _JITTED.findall(op_name or "")
    if not names or (len(names) == 1 and (op_name or "").startswith(f"jit({names[0]})/")):
        return ""
    return str(names[-1])


def is_jitted_around(name: str, op_name: str | None) -> bool:
    """Whether a scope is in a jitted function, at any depth.

    Example:
        >>> is_jitted_around("solve", "jit(step)/jit(solve)/while/body/jit(silu)/exp"), is_jitted_around("solve", None)
        (True, False)
    """
    return name in _JITTED.findall(op_name or "")


def callee_of(edit: Edit) -> str:
    """The jitted function that a call calls: `silu`; "" if the edit is not of a call, or the callee is unknown.

    JAX lowers some primitives to functions of their own, as `argmax`; their calls have the scope of the program.

    Example:
        >>> call = Site(0, 0, "main", "c", "func.call", "%c = f32[2] func.call(%x), callee=%multiply_ea1994")
        >>> scopes = "jit(step)/transpose(jvp(jit(silu)))", "jit(step)"
        >>> [callee_of(Edit("added", sites=((None, call),), op_name=scope)) for scope in scopes]
        ['silu', '']
    """
    site = edit.new or edit.old
    scope = edit.op_name or ""
    is_named = site is not None and site.opcode in CALLS and (site.computation_name != "main" or "/" in scope)
    return called_function(scope) if is_named else ""


OF_BODY = "of a loop's body"
"""A call of the function that JAX makes of a body, where a turn of an unrolled loop runs it several times."""


def is_of_body(edit: Edit) -> bool:
    """Whether an edit is of a call of a loop's body.

    Example:
        >>> call = Site(0, 0, "main", "c", "func.call", "%c = f32[2] func.call(%x), callee=%add_ea1994")
        >>> is_of_body(Edit("added", sites=((None, call),), op_name="jit(step)/jvp()/while/body/closed_call"))
        True
    """
    site = edit.new or edit.old
    return site is not None and site.opcode in CALLS and (edit.op_name or "").endswith("while/body/closed_call")


def _path_of(edit: Edit) -> str:
    """JAX's path of an argument: `params['w']`; the callee of a call; otherwise ""."""
    site = edit.new or edit.old
    if callee := callee_of(edit):
        return callee
    if is_of_body(edit):
        return OF_BODY
    is_argument = site is not None and site.opcode == "parameter"
    return edit.op_name or "" if is_argument and is_path(edit.op_name or "") else ""


def named(site: Site | None, path: str = "") -> str:
    """The name of a changed instruction in reports: `multiply %multiply.c482 f32[32,64]`.

    Args:
        site: the instruction.
        path: path of an argument, which is more useful than its name.

    Example:
        >>> named(Site(0, 0, "main", "t", "tanh", "%t = f32[8]{0} tanh(%p)"))
        'tanh %t f32[8]'
    """
    if site is None:
        return ""
    if site.opcode == "return":
        return site.opcode  # it has no better name, and no shape
    if path == OF_BODY:  # its results are all that the loop carries
        return f"{site.opcode} {path}"
    return " ".join(filter(None, (site.opcode, path or f"%{site.name}", format_shape(site))))


def format_added(site: Site, path: str = "") -> str:
    """An added or removed instruction: its opcode, shape and attributes.

    Args:
        site: the instruction.
        path: path of an argument.

    Example:
        >>> text = "%a = f32[4]{0} all-gather(%p), channel_id=1, replica_groups={{0,1}}, dimensions={0}"
        >>> format_added(Site(0, 0, "main", "a", "all-gather", text))
        'all-gather %a f32[4], replica_groups={{0,1}}, dimensions={0}'
        >>> format_added(Site(0, 0, "main", "c", "constant", "%c = f32[] constant(0.5)"))
        'constant %c f32[] (0.5)'
    """
    literal = f" ({value})" if (value := literal_of(site)) else ""
    return ", ".join([named(site, path) + literal, *format_attributes(site)])


def literal_of(site: Site) -> str:
    """The value of a constant or the number of a parameter; otherwise "".

    Example:
        >>> literal_of(Site(0, 0, "main", "c", "constant", "%c = f32[] constant(0.5)"))
        '0.5'
    """
    operands = _parts(site)[0] if site.opcode in ("constant", "parameter") else ""
    return format_literal(operands) if operands else ""


def format_attributes(site: Site) -> list[str]:
    """The attributes of an instruction that a reviewer reads.

    Example:
        >>> format_attributes(Site(0, 0, "main", "t", "transpose", "%t = f32[2]{0} transpose(%p), dimensions={0}"))
        ['dimensions={0}']
    """
    found = []
    for part in _parts(site)[1]:
        name, _, value = part.partition("=")
        if site.opcode.startswith("sdy.") and part.startswith("sharding="):
            found.append(f"sharding={format_partition(value)}")
        elif name in _UNTOLD or value.startswith(("%", "{%")):
            continue
        elif shardings := shardings_of_values(value):
            found.append(f"{name}=[{_few_of(shardings)}]")
        else:
            found.append(short_attribute(part))
    return found


def _few_of(words: Sequence[str]) -> str:
    more = [f"{len(words) - _MOST_VALUES} more"] if len(words) > _MOST_VALUES else []
    return ", ".join([*words[:_MOST_VALUES], *more])


def _other_results(old: str, new: str) -> str:
    """Different results of the same calls, loops or sorts: `%call.1#1 instead of %call.1`; "" if more differs."""
    pairs = list(zip(old.split(", "), new.split(", "), strict=False))
    if old.count(",") != new.count(",") or any(_NUMBER.sub("", a) != _NUMBER.sub("", b) for a, b in pairs):
        return ""
    return ", ".join(dict.fromkeys(f"{b} instead of {a}" for a, b in pairs if a != b))


_NUMBER = re.compile(r"#\d+$")


def _change_of_shardings(old: str, new: str) -> str:
    """The number of values, or those whose sharding differs; "" if neither explains the change."""
    before, after = shardings_of_values(old), shardings_of_values(new)
    if not (before and after) or len(before) != len(after):
        return format_pair(len(before), many(len(after), "value")) if before or after else ""
    meshes = [" and ".join(dict.fromkeys(_MESH_OF_VALUE.findall(text))) for text in (old, new)]
    if before == after and meshes[0] != meshes[1]:  # the same axes in another order
        return f"{many(len(before), 'value')} of {format_pair(*meshes)}"
    return _few_of(list(dict.fromkeys(format_pair(*pair) for pair in resharded_values(old, new))))


def short_attribute(text: str) -> str:
    """An attribute without MLIR's wrapping of StableHLO values; arrays become lists of numbers.

    Example:
        >>> short_attribute("comparison_direction=#stablehlo<comparison_direction LT>")
        'comparison_direction=LT'
        >>> short_attribute("#stablehlo.dot<lhs_contracting_dimensions = [1]>")
        'lhs_contracting_dimensions = [1]'
        >>> short_attribute("dimensions=array<i64: 0, 1>"), short_attribute("dense<[[0, 1]]> : tensor<1x2xi64>")
        ('dimensions=[0, 1]', '[[0, 1]]')
        >>> short_attribute("padding=dense<0> : tensor<1x2xi64>"), short_attribute("array<i64>")
        ('padding=[[0, 0]]', '[]')
        >>> short_attribute("scatter_dimension=0 : i64")
        'scatter_dimension=0'
    """
    text = _TYPED.sub("", _ARRAY.sub(lambda found: f"[{found[1] or ''}]", _ENUM.sub(r"\1", text)))
    return _NESTED.sub(r"\1", _SPLAT.sub(_written_out, _DENSE.sub(r"\1", text)))


def _written_out(found: re.Match[str]) -> str:
    """The one element of `dense<0> : tensor<2x2xi64>`, repeated for each element."""
    sizes = [int(size) for size in found[2].split("x") if size]
    if prod(sizes) > _MOST_OF_A_SPLAT:
        return found[0]
    text = found[1]
    for size in reversed(sizes):
        text = f"[{', '.join([text] * size)}]"
    return text


def format_shape(site: Site) -> str:
    """The shape of an instruction's result without its layout.

    Example:
        >>> format_shape(Site(0, 0, "main", "t", "tanh", "%t = f32[8]{0} tanh(%p)"))
        'f32[8]'
    """
    if len(arrays := arrays_of(site)) > 1:
        return format_arrays(arrays)
    head = site.text.partition(f" {site.opcode}(")[0]
    shape = arrays[0].text if arrays and " = (" in head else head.partition(" = ")[2] if " = " in head else ""
    shape = _LAYOUT.sub("", shape)
    # Nobody reads all elements of a large tuple.
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
    """The text in the parentheses, and the attributes after them, split at commas outside of brackets."""
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


_SCALAR = re.compile(r"dense<([^<>\[\]\", ]+)>")
_FLOAT = re.compile(r"-?\d++(?:\.\d*+)?(?:[eE][+-]?\d+)?")
_BITS = re.compile(r"0x[0-9A-F]+")
# Width in bits and the bits of positive infinity: f16, bf16, f32, f64. Other types have none or are printed as numbers.
_INFINITIES = ((16, 0x7C00), (16, 0x7F80), (32, 0x7F800000), (64, 0x7FF0000000000000))
_LONG = 1e6  # so that 60 is not printed as 6e+01
_DIGITS_OF_F32 = 9  # enough for any f32; longer ones are f64


def format_literal(value: str) -> str:
    """The shortest decimal of the same value, for each number of a list; other text is unchanged.

    Example:
        >>> format_literal("dense<9.99999997E-7>"), format_literal("dense<[1, 2]>"), format_literal("{1, 2}")
        ('1e-06', '[1, 2]', '{1, 2}')
        >>> format_literal("dense<[[1.000000e+00, 5.000000e-01]]>")
        '[[1, 0.5]]'
        >>> format_literal("dense<5.000000e-01>"), format_literal("dense<true>"), format_literal("dense<3>")
        ('0.5', 'true', '3')
        >>> format_literal("dense<6.000000e+01>"), format_literal("1e9")
        ('60', '1e+09')
        >>> format_literal("dense<0xFF800000>"), format_literal("dense<0x7FC0>")
        ('-inf', 'nan')
    """
    if listed := _DENSE.fullmatch(value):
        return _FLOAT.sub(lambda found: format_literal(found[0]), listed[1])
    scalar = _SCALAR.fullmatch(value)
    text = scalar[1] if scalar else value
    if scalar and _BITS.fullmatch(text):
        return _format_bits(text)
    if not _FLOAT.fullmatch(text) or not {".", "e", "E"} & set(text):
        return text
    digits = len(re.sub(r"[eE].*|\D", "", text).lstrip("0"))
    shorter = (f"{float(text):.{places}g}" for places in range(1, 18))
    shortest = next((one for one in shorter if _same(one, text, digits <= _DIGITS_OF_F32)), text)
    return f"{float(text):.0f}" if "e+" in shortest and abs(float(text)) < _LONG else shortest


def _format_bits(text: str) -> str:
    """An infinity or a NaN, which MLIR prints as the bits of a float."""
    bits, width = int(text, 16), 4 * (len(text) - 2)
    sign = "-" if bits >> (width - 1) else ""
    infinities = [infinity for of, infinity in _INFINITIES if of == width]
    rest = bits & ~(1 << (width - 1))
    if rest in infinities:
        return f"{sign}inf"
    return "nan" if infinities and rest > min(infinities) else text


def _same(one: str, other: str, is_single: bool) -> bool:
    if not is_single:
        return float(one) == float(other)
    try:
        return struct.pack("f", float(one)) == struct.pack("f", float(other))
    except OverflowError:
        return False


ANY_OUTPUT = "any output"
NOT_DONATED = ("none", "not donated")
PLACEMENT_FIELDS = ("memory_space", "sharding", "compute_type", "replica_groups", "alias", "execution_thread")
OF_ARRAYS = frozenset(["shape", "element_type"])
"""Fields by which the arrays of a combined collective differ."""
_WITH_LAYOUT = ("element_type", "shape", "memory_space", "compute_type")  # a changed layout follows from these
_BY_OPCODE = ("literal", "precision", "fusion_kind", "custom_call_target", "backend_config")
_MOST_OPERANDS = 8
_ONE_FUSION = ("added", "removed", "dissolved", "formed", "grew", "shrank")
_PARAMETER = re.compile(r"parameter\((\d+)\)")
_FIELD_WORDS = {
    "element_type": "element type",
    "memory_space": "memory space",
    "compute_type": "runs on",
    "execution_thread": "execution thread",
    "fusion_kind": "fusion kind",
    "custom_call_target": "custom call target",
    "backend_config": "backend config",
    LEFT_OVER: "sharding left by XLA",
    INSIDE: "memory space inside a fusion",
}
_SYNCHRONOUS = "collective_backend_config.is_sync=true"  # of a `-start` on a GPU
_ELEMENT_SHAPE = re.compile(r"\b\w++\[[^\[\]]*+\]")
_MOST_VALUES = 3
_MESH = re.compile(r"#sdy\.sharding<@([\w.]+),")
_MESH_OF_VALUE = re.compile(r"<@([\w.]+),")
# Fields whose values have a special format.
_FORMATS: dict[str, Callable[[str], str]] = {
    "literal": lambda text: format_literal(text or "none"),
    "precision": format_precision,
    "sharding": lambda text: format_partition(text or "none"),
    LEFT_OVER: lambda text: format_partition(text or "none"),
}


_LONGEST_LITERAL = 200  # of a longer table nobody sees which numbers differ; JSON has both


def format_field_change(change: FieldChange, edit: Edit | None = None) -> str:
    """One changed field: `memory space: device -> host`, `argument 0 is no longer donated`.

    Args:
        change: the changed field with both values.
        edit: its edit; for donation it has the arguments.

    Returns:
        text without markup.

    Example:
        >>> format_field_change(FieldChange("sharding", "{replicated}", "{devices=[2,1]<=[2]}"))
        'sharding: replicated -> split over 2 devices on dimension 0'
    """
    old, new = change.old or "none", change.new or "none"
    if change.field == "alias":
        return _donation(old, new, edit)
    if change.field == "backend_config" and {old, new} == {"none", _SYNCHRONOUS}:
        return f"asynchronous: {format_pair(*('yes' if text == 'none' else 'no' for text in (old, new)))}"
    if change.field == "literal" and (not (change.old or change.new) or max(len(old), len(new)) > _LONGEST_LITERAL):
        return "literal: other numbers"
    if change.literals is not None:
        old, new = (", ".join(map(format_literal, side)) for side in change.literals)
        return f"operands: {'constant' if len(change.literals[0]) == 1 else 'constants'} {format_pair(old, new)}"
    if change.of_copies or change.of_casts:
        return f"operands: other {'copies' if change.of_copies else 'casts'} of the same values"
    if change.field == "operands" and old == new:
        which = "" if "," in old else f" ({old})"  # of several, some may be the same
        return f"operands: other values of the same names{which}"
    if change.field == "operands" and (numbers := _other_results(old, new)):
        return f"operands: {numbers}"
    if change.field == "operands" and max(counts := (old.count(",") + 1, new.count(",") + 1)) > _MOST_OPERANDS:
        return (
            f"operands: other values among {counts[0]}"
            if counts[0] == counts[1]
            else f"operands: {format_pair(*counts)}"
        )
    words_of_values = _change_of_shardings(old, new)
    if (show := _FORMATS.get(change.field)) and not words_of_values:
        words = show(change.old or ""), show(change.new or "")
        meshes = [match[1] for text in (old, new) if (match := _MESH.match(text))]
        if words[0] != words[1]:
            old, new = words
        elif len(set(meshes)) == 2:  # the same axes with different sizes
            old, new = (f"{one} of {mesh}" for one, mesh in zip(words, meshes, strict=True))
        # else the values as printed
    if change.field == "memory_space":
        # StableHLO gives no memory kind for JAX's default, the memory of the device.
        old, new = (text.strip('"').replace("none", "default") for text in (old, new))
    if edit is not None and change.field in OF_ARRAYS and (arrays := other_arrays(edit)):
        return arrays
    if change.field == "shape" and (shapes := _other_kind_results(edit) or _other_elements(old, new)):
        return f"shape: {shapes}"
    shortened = short_attribute(old), short_attribute(new)
    old, new = FieldChange(change.field, *(shortened if shortened[0] != shortened[1] else (old, new))).shown
    name = _FIELD_WORDS.get(change.field, change.field.removeprefix(OF_COMPUTATION).removeprefix("attribute:"))
    site = edit.new or edit.old if edit else None
    if change.field == "replica_groups":
        return _other_groups(change, format_pair(old, new), site)
    return f"{name}: {words_of_values or format_pair(old, new)}"


def _other_groups(change: FieldChange, pair: str, site: Site | None) -> str:
    """Over how many devices a collective is now, or the groups of devices where there are as many in each."""
    if site is not None and "permute" in site.opcode:
        return f"source-target pairs: {pair}"
    before, after = ({len(group) for group in parse_groups(text) or ()} for text in (change.old, change.new))
    if len(before) == len(after) == 1 and before != after:
        return f"over {many(after.pop(), 'device')} instead of {before.pop()}"
    return f"groups of devices: {pair}"


def other_arrays(edit: Edit) -> str:
    """How the arrays of a combined collective differ, see `format_other_arrays`; "" if none have another type or shape.

    Example:
        >>> texts = [f"%r = {shape} all-reduce(%p)" for shape in ("f32[8]", "(f32[8], f32[4])")]
        >>> pair = tuple(Site(0, 0, "main", "r", "all-reduce", text) for text in texts)
        >>> other_arrays(Edit("changed", ("shape",), sites=(pair,)))
        '2 arrays instead of 1, with f32[4]'
    """
    if edit.kind != "changed" or OF_ARRAYS.isdisjoint(edit.fields):
        return ""
    return format_other_arrays(arrays_of(edit.old), arrays_of(edit.new))


def _other_kind_results(edit: Edit | None) -> str:
    """Both results of a collective that is of another kind now: an asynchronous one has its operands in its shape."""
    if edit is None or "opcode" not in edit.fields:
        return ""
    old, new = arrays_of(edit.old), arrays_of(edit.new)
    return format_pair(old[0].text, new[0].text) if len(old) == len(new) == 1 else ""


def _other_elements(old: str, new: str) -> str:
    """The elements of a long tuple that differ: `27 elements instead of 29, without 2 f32[64]`; "" of a short one."""
    if not (old.startswith("(") and new.startswith("(")):
        return ""
    before, after = (_ELEMENT_SHAPE.findall(text) for text in (old, new))
    if max(len(before), len(after)) <= _MOST_ELEMENTS:
        return ""
    pairs = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    if len(before) == len(after) and len(pairs) <= _MOST_VALUES:
        return (
            f"{len(pairs)} of {len(after)} elements: {', '.join(format_pair(*pair) for pair in pairs)}" if pairs else ""
        )
    sides = Counter(before) - Counter(after), Counter(after) - Counter(before)
    parts = [f"{len(after)} elements" + (f" instead of {len(before)}" if len(before) != len(after) else "")]
    for word, found in zip(("without", "with"), sides, strict=True):
        if found:
            parts.append(f"{word} {_few_of([f'{n} {shape}' if n > 1 else shape for shape, n in found.items()])}")
    return ", ".join(parts) if any(sides) else ""


def _donation(old: str, new: str, edit: Edit | None) -> str:
    sites = [site for pair in (edit.sites if edit else ()) for site in pair[:1] if site]
    numbers = [int(match.group(1)) for site in sites if (match := _PARAMETER.search(site.text))]
    many_ = len(numbers) > 1
    if many_ and not {old, new} & {*NOT_DONATED, ANY_OUTPUT}:
        return f"arguments {_ranges(numbers)} are donated to other results"  # each to a different one
    who = f"argument{'s' * many_} {_ranges(numbers)}" if numbers else "an argument"
    if edit and edit.op_name and len(numbers) == 1:
        who += f" ({edit.op_name})"
    verb = "are" if many_ else "is"
    if new in NOT_DONATED:
        return f"{who} {verb} no longer donated"
    if old in NOT_DONATED:
        return f"{who} {verb} donated now"
    was, now = ("an output each" if many_ and one.startswith("output") else one for one in (old, new))
    # A compiled program names the output that uses a donation.
    if new == ANY_OUTPUT and old.startswith("output {"):
        return f"{who} {verb} still donated, but shares memory with no output now (was {was})"
    if old == ANY_OUTPUT and new.startswith("output {"):
        return f"{who} {verb} donated as before, and shares memory with {now} now"
    return f"{who} {verb} donated to {now} instead of {was}"


def _ranges(numbers: Iterable[int]) -> str:
    """`0, 3 to 7`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    pairs = (", ".join(map(str, run)) if len(run) < 3 else f"{run[0]} to {run[-1]}" for run in runs)
    return ", ".join(pairs)


def format_edit(edit: Edit) -> str:
    """One edit as text, without markup and not yet escaped.

    Example:
        >>> format_edit(Edit("changed", ("alias",), changes=(FieldChange("alias", "result 1", "none"),)))
        'an argument is no longer donated'
    """
    site = edit.new or edit.old
    if edit.kind in ("added", "removed"):
        return format_added(site, _path_of(edit)) if site else "; ".join(map(format_field_change, edit.changes))
    words = []
    for change in listed_changes(edit):
        # Operand names are omitted if the edit has several sites.
        is_of_one = change.field in ("operands", "attribute:root") and change.literals is None
        of_several = is_of_one and edit.count > 1 and not (change.of_copies or change.of_casts)
        if of_several and change.field == "operands" and "shape" in edit.fields:
            continue  # another size follows from what is taken, or equal ones are crossed by it
        words.append(change.field.removeprefix("attribute:") if of_several else format_field_change(change, edit))
    if edit.fields == ("alias",):
        return "; ".join(words)
    if edit.kind == "moved" and edit.old and edit.new:
        words.append(f"from {edit.old.computation_name} to {edit.new.computation_name}")
    if not words and not edit.changes:
        words = [field.replace("_", " ") for field in edit.fields if field != "opcode"]
    opcode = next((change for change in edit.changes if change.field == "opcode"), None)
    head = named(site, _path_of(edit))
    if opcode:
        head = format_pair(*(_with_target(*side) for side in ((opcode.old, edit.old), (opcode.new, edit.new))))
    if site is not None and not opcode and other_arrays(edit):
        head = f"{site.opcode} %{site.name}"
    if edit.matcher == OF_WHOLE and site is not None:
        head = f"computation %{site.computation_name}"
    return f"{head}: {'; '.join(words)}" if head and words else head or "; ".join(words)


_CUSTOM_CALL = re.compile(r"\bcustom[_-]call\b")
_TARGET = re.compile(r'\bc(?:ustom_call_target|all_target_name)="?([^",\s]{1,60})')


def custom_call_target(text: str) -> str:
    """What a custom call calls, by its text; "" if the text does not say.

    Example:
        >>> custom_call_target('custom-call f32[8], custom_call_target="__cudnn$convForward"')
        '__cudnn$convForward'
    """
    found = _TARGET.search(text) if _CUSTOM_CALL.search(text) else None
    return found[1] if found else ""


def _with_target(opcode: str, site: Site | None) -> str:
    """An opcode, that of a custom call with what it calls: `custom-call __cudnn$convForward`."""
    is_custom = site is not None and opcode in ("custom-call", "custom_call")
    return " ".join(filter(None, (opcode, custom_call_target(site.text) if site is not None and is_custom else "")))


# The number of a channel, and where a fusion keeps what no longer is its result, mean nothing beside what else changed.
_MEANINGLESS_BESIDE = frozenset([*(f"attribute:{name}" for name in CHANNELS), INSIDE])


def listed_changes(edit: Edit) -> list[FieldChange]:
    """The changed fields listed with the opcode; placement comes first.

    Example:
        >>> listed_changes(Edit("changed", ("layout",), changes=(FieldChange("layout", "{0}", "{1}"),)))[0].new
        '{1}'

        A mesh of other sizes has another name, and is a change of its own:

        >>> names = [f"#sdy.sharding<@mesh_data{n}, [{{?}}]>" for n in (2, 4)]
        >>> changes = FieldChange("sharding", *names), FieldChange("shape", "f32[8]", "f32[4]")
        >>> [one.field for one in listed_changes(Edit("changed", ("sharding", "shape"), changes=changes))]
        ['shape']
    """
    beside = {"opcode", "computation", *_of_one_opcode(edit)}
    listed = [change for change in edit.changes if change.field not in beside]
    if any(change.field in _WITH_LAYOUT for change in listed):
        listed = [change for change in listed if change.field != "layout"]
    others = [change for change in listed if change.field not in _MEANINGLESS_BESIDE and not _is_of_mesh(change)]
    if others or "opcode" in edit.fields:
        listed = others
    if sum(change.field == "literal" for change in listed) > 1:  # a table on one side alone is stored as its hash
        listed = [change for change in listed if change.field != "literal"]
        listed.append(FieldChange("literal", "", ""))
    if other_arrays(edit):  # one sentence about both, and other arrays are other operands
        first = next(change.field for change in listed if change.field in OF_ARRAYS)
        listed = [change for change in listed if change.field not in {*OF_ARRAYS, "operands"} - {first}]
    if any(change.field == "element_type" for change in listed):  # the same number with a different type
        listed = [c for c in listed if c.field != "literal" or format_literal(c.old) != format_literal(c.new)]
        listed = [c for c in listed if not c.of_casts]
    return sorted(listed, key=lambda change: (change.field not in PLACEMENT_FIELDS, change.field == "backend_config"))


def listed_fields(edit: Edit) -> tuple[str, ...]:
    """The names of all changed fields, except fields that only one of two opcodes has.

    Example:
        >>> listed_fields(Edit("changed", ("layout", "shape")))
        ('layout', 'shape')
    """
    left_out = _of_one_opcode(edit)
    return tuple(field for field in edit.fields if field not in left_out)


def _of_one_opcode(edit: Edit) -> set[str]:
    """Fields that an operation gained or lost only because its opcode changed, which the opcodes already show."""
    if "opcode" not in edit.fields:
        return set()
    return {
        change.field
        for change in edit.changes
        if (change.field in _BY_OPCODE or change.field.startswith("attribute:"))
        and ("none" in (change.old, change.new) or not (change.old and change.new))
    }


def fusion_lines(changes: tuple[FusionChange, ...]) -> list[str]:
    """Changed fusions: one line counting added and removed ones, then each distinct sentence once.

    Example:
        >>> fusion_lines((FusionChange("removed", (), ()), FusionChange("removed", (), ())))
        ['2 removed']
    """
    plain: dict[str, int] = {}
    listed: dict[str, int] = {}
    for change in changes:
        words = format_fusion(change)
        is_plain = words == f"fusion {change.kind}"
        counts, key = (plain, change.kind) if is_plain else (listed, words)
        counts[key] = counts.get(key, 0) + 1
    first = [", ".join(f"{count} {kind}" for kind, count in plain.items())] if plain else []
    return first + [f"{count}x {words}" if count > 1 else words for words, count in listed.items()]


def format_fusion(change: FusionChange) -> str:
    """Fusions that were split, merged or regrouped: `1 fusion became 2, 48.0 KiB more between them`.

    Example:
        >>> format_fusion(FusionChange("split", (), (), intermediate_bytes=1024))
        '0 fusions became 0, 1.0 KiB more between them'
    """
    if change.kind in _ONE_FUSION or (len(change.old), len(change.new)) == (1, 1):
        words = f"fusion {change.kind}"
    else:
        words = f"{many(len(change.old), 'fusion')} became {len(change.new)}"
    parts = [words]
    if change.moved_in:
        parts.append(f"{many(change.moved_in, 'instruction')} moved in")
    if change.moved_out:
        parts.append(f"{many(change.moved_out, 'instruction')} moved out")
    if change.intermediate_bytes:
        size = format_bytes(abs(change.intermediate_bytes))
        parts.append(f"{size} {'more' if change.intermediate_bytes > 0 else 'less'} between them")
    return ", ".join(parts)


def placement_lines(edits: tuple[Edit, ...]) -> list[str]:
    """Changes of placement as text; equal ones once with their count, most frequent first.

    Example:
        >>> placement_lines((Edit("changed", ("memory_space",), 3, changes=(FieldChange("memory_space", "a", "b"),)),))
        ['memory space: a -> b (3 instructions)']
    """
    counts: dict[str, int] = {}
    single: dict[str, None] = {}
    for edit in edits:
        for change in edit.changes:
            if change.field in PLACEMENT_FIELDS:
                words = format_field_change(change, edit)
                counts[words] = counts.get(words, 0) + edit.count
                if change.field == "alias":
                    single[words] = None
    ranked = sorted(counts, key=lambda words: -counts[words])
    return [words if words in single else f"{words} ({many(counts[words], 'instruction')})" for words in ranked]


# --- A listed change in one line, as every form lists it.

NAMED = re.compile(r"^([\w.-]+) %[\w.-]+(?=[ :,]|$)")
"""Matches an operation with its name, which differs between programs."""
# How an added or removed operation indexes its operands; its origin and cost are shown next to it.
_DETAILS = re.compile(
    r", (?:dot_dimension_numbers|dimension_numbers|gather_dimension_numbers|scatter_dimension_numbers|precision_config"
    r"|operand_precision|[lr]hs_\w+_dims|offset_dims|collapsed_slice_dims|start_index_map|update_window_dims"
    r"|inserted_window_dims|index_vector_dim|slice_sizes|indices_are_sorted|unique_indices|window|dim_labels)=.*",
    re.DOTALL,
)
# The compiler's own text of many lines; it is listed last.
_LONG_CONFIG = re.compile(r"backend config: (?=.{40}).*", re.DOTALL)
# Values that nobody reads in a list.
_LONG_VALUE = re.compile(r"\b(output_to_operand_aliasing|(?:scatter_)?dimension_numbers): [^;]{40,}")
# Names that the compiler chose: they mean nothing without the whole program.
_OPERANDS = re.compile(r"operands: %[^;]*")


_MESH_NAME = re.compile(r"(?<=[@<])mesh\w*")


def _is_of_mesh(change: FieldChange) -> bool:
    """Whether only the name of the mesh differs, which is made of its axes and is a change of its own."""
    is_sharding = change.field.removeprefix("attribute:") in ("sharding", "in_shardings", "out_shardings")
    return is_sharding and _MESH_NAME.sub("", change.old) == _MESH_NAME.sub("", change.new)


def format_left(stage: StageView) -> str:
    """The number of changes that a list leaves out.

    Example:
        >>> format_left(StageView("compiled", ("cpu",), left=2))
        '2 changes'
        >>> format_left(StageView("compiled", ("cpu",), what="a loop came", left=2))
        '... and 2 more changes'
    """
    return f"... and {many(stage.left, 'more change')}" if stage.lines or stage.what else many(stage.left, "change")


def format_listed(change: ChangeView) -> str:
    """A change in one line: `added 2x all-gather f32[128,64]`. Only `--all` and JSON have names and details.

    Example:
        >>> format_listed(ChangeView("added", 2, "dot %dot.3 f32[8], lhs_contracting_dims={1}"))
        'added 2x dot f32[8]'
        >>> pairs = ", ".join(f"{{{n}}}: ({n}, {{}})" for n in range(9))
        >>> format_listed(ChangeView("changed", 1, f"fusion: output_to_operand_aliasing: none -> {pairs}; shape"))
        'changed fusion: output_to_operand_aliasing; shape'
    """
    times = f"{change.count:,}x " if change.count > 1 and change.kind != "replaced" else ""
    if change.kind in ("added", "removed"):
        what = _DETAILS.sub("", NAMED.sub(r"\1", change.what))
    else:
        what = _OPERANDS.sub("operands", _LONG_CONFIG.sub("backend config", change.what))
        what = _LONG_VALUE.sub(r"\1", what)
    return f"{change.kind} {times}{what}"


def format_beside(change: ChangeView, stage: str = "stablehlo") -> str:
    """What is shown next to a change in one line: its cost and the number of knock-on edits.

    Of those in a compiled program only where another size costs more or less in what follows: the compiler makes many
    that do not.

    Example:
        >>> format_beside(ChangeView("added", 1, "dot", cost="+8 flops", following=2))
        '+8 flops, + 2 knock-on edits'
    """
    is_cause = change.kind == "changed" and change.follows_cost
    follows = format_following(change.following, change.follows_cost) if stage == "stablehlo" or is_cause else ""
    return ", ".join(filter(None, (change.cost, follows)))


def format_following(count: int, cost: str) -> str:
    """How many knock-on edits a change has, and by how much what follows costs more or less; "" for neither.

    Example:
        >>> format_following(2, ""), format_following(1, "+16 flops"), format_following(0, "+16 flops")
        ('+ 2 knock-on edits', '+ 1 knock-on edit with +16 flops', 'with +16 flops in what takes it')
    """
    if not count:
        return f"with {cost} in what takes it" if cost else ""
    return f"+ {many(count, 'knock-on edit')}{f' with {cost}' if cost else ''}"


COSTS = "flops and bytes of changes are computed from shapes, cycles are XLA's estimates"
"""A note on where the numbers of `format_cost` come from."""

_MEASURES: tuple[tuple[Callable[[Cost], float], Callable[[float], str], str], ...] = (
    (lambda cost: cost.flops, format_count, " flops"),
    (lambda cost: cost.shown_bytes, format_bytes, ""),
    (lambda cost: cost.cycles or 0, format_count, " cycles"),
)


def format_cost(
    old: Cost | None, new: Cost | None, stage: str = "compiled", root: str = "", is_net: bool = False
) -> str:
    """The cost of both sides: `+40,960 flops`, `64.0 KiB -> 32.0 KiB`, or one number if equal.

    Args:
        old, new: None for a side without the instruction.
        stage: stage of the program. StableHLO does not show which values are stored, so it has no bytes.
        root: the project's folder; file paths of loops are relative to it.
        is_net: give the difference of the sides instead of both, for a text that names only what one side lacks; but
            both if one is of one iteration of loops with unknown trip counts and the other of all iterations.

    Returns:
        text in the order operations, bytes read and written, cycles, bytes in host memory; "" for nothing. Inside loops
        with an unknown trip count, one iteration is counted, and the text names the loop or the number of loops. Of a
        conditional every branch is counted, and the text says so; it says `at most` of loops of 6 or 7 turns.

    Example:
        >>> format_cost(None, Cost(1, 128, 512, 512)), format_cost(Cost(1, 128), Cost(1, 128))
        ('+128 flops, +1.0 KiB', '128 flops')
        >>> format_cost(Cost(1, 128), Cost(1, 96), is_net=True)
        '-32 flops'
        >>> from hlodiff.differ.loops import UncountedLoop
        >>> format_cost(Cost(1, 8, loops=(UncountedLoop("", "w", "net.py", 4),)), Cost(9, 72), is_net=True)
        '8 -> 72 flops, counting one turn of the loop at net.py:4'
    """
    words = []
    is_stored = stage != "stablehlo"
    is_net = is_net and not (old and new and bool(old.loops) != bool(new.loops))
    for measure, show, unit in _MEASURES if is_stored else _MEASURES[:1]:
        before, after = (None if cost is None else measure(cost) for cost in (old, new))
        words.append(_change_of_cost(before, after, show, unit, is_net))
    elsewhere = [name for cost in (old, new) if cost and is_stored for name, _ in cost.elsewhere]
    for space in dict.fromkeys(elsewhere):
        before, after = (None if cost is None else dict(cost.elsewhere).get(space, 0) for cost in (old, new))
        if before != after and space == "host":  # moves between other memories are among the fields; JSON has all
            words.append(_change_of_cost(before, after, format_bytes, f" in {space}", is_net))
    found = ", ".join(filter(None, words))
    costs = [cost for cost in (old, new) if cost is not None]
    # One iteration is counted of loops with an unknown trip count: all of the cost, or a part.
    loops = list(dict.fromkeys(loop.words(root) for cost in costs for loop in cost.loops))
    counted = ["every branch"] if any(cost.is_in_branches for cost in costs) else []
    if not found:
        return ""
    found += " at most" * any(cost.is_at_most for cost in costs)
    several = max(len(loops), *(len(cost.loops) for cost in costs))  # one line may have made several
    if several > 1:
        where = f"{OF_LOOPS}{loops[0].removeprefix('the loop')}" if len(loops) == 1 else ""
        counted.append(f"one turn of each of {several} loops{where}")
    elif loops and all(cost.loops and not cost.is_partly_in_loops for cost in costs):
        found += f" per turn of {loops[0]}"
    elif loops:
        counted.append(f"one turn of {loops[0]}")
    return f"{found}, counting {' and '.join(counted)}" if counted else found


def _change_of_cost(old: float | None, new: float | None, show: Callable[[float], str], unit: str, is_net: bool) -> str:
    if is_net:
        by = (new or 0) - (old or 0)
        old, new = (None, by) if by > 0 else (-by, None)
    if not old and not new:
        return ""
    if old is None or new is None:
        return f"+{show(new or 0)}{unit}" if old is None else f"-{show(old)}{unit}"
    return f"{show(new)}{unit}" if old == new else f"{format_pair(*format_sides(old, new, show))}{unit}"
