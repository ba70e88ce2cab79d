"""Where a program runs and where its bytes live: memory spaces, host or device, shardings, donation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from hlodiff.differ.metrics import BOOKKEEPING, counted_as
from hlodiff.hlo.collectives import continued_steps
from hlodiff.hlo.grammar import cuda_sign, donated_parts
from hlodiff.hlo.model import Computation, Instruction, Module
from hlodiff.hlo.traversal import multiplicities

# XLA's numbers. 0 and 5 mean the same everywhere (`Layout::kDefaultMemorySpace`, `kHostMemorySpace`), the others are
# each backend's own: on TPU 1 is vector memory, 2 holds semaphores, 6 scalars; on CUDA 1 is memory for collectives.
_SPACES = {
    "": {0: "device", 1: "fast memory", 5: "host"},
    "tpu": {0: "device", 1: "vmem", 2: "sync flags", 5: "host", 6: "smem"},
    "cuda": {0: "device", 1: "collective memory", 2: "temporary memory", 5: "host"},
}
_DEVICES = re.compile(r"\{devices=\[(?P<sizes>\d{1,9}(?:,\d{1,9})*)\](?P<rest>.*)\}$", re.DOTALL)
_LAST_DIMS = re.compile(r"last_tile_dims=\{([^{}]*)\}")
_MAXIMAL = re.compile(r"\{maximal device=(\d{1,18})[^}]*\}$")
_SDY = re.compile(r"(?:#sdy\.sharding)?<(?P<mesh>@[\w\"]+|mesh<.*?>), \[(?P<dims>[^\]]*+)\](?P<rest>.*)>$", re.DOTALL)
_AXIS = re.compile(r'"([^"]*)"(?::\(\d{1,18}\)(\d{1,18}))?')
_PRECISION = re.compile(r"(?:(?<=[{,])|(?<=precision ))(default|high|highest|packed_nibble)(?=[,}>])")
_OF_VALUES = re.compile(r"<@[^<>]*>")
_SIZES = re.compile(r'"([^"]*)"=(\d{1,18})')


def platform_of(module: Module) -> str:
    """Which backend compiled a program, as far as the program shows it.

    Args:
        module: a program of either stage.

    Returns:
        "tpu" (tiled layouts), "cuda" (its backend_config or libraries) or "".

    Example:
        >>> platform_of(Module("m", "compiled", (), 0))
        ''
    """
    for computation in module.computations:
        for instruction in computation.instructions:
            shape = instruction.shape
            for leaf in shape.leaves if shape.tuple_shapes else (shape,):
                if leaf.layout and leaf.layout.tiling:
                    return "tpu"
            for name, value in instruction.attributes:
                if name in ("backend_config", "custom_call_target") and cuda_sign(value):
                    return "cuda"
    return ""


def format_memory_space(space: int, platform: str = "") -> str:
    """The name of a layout's memory space.

    Args:
        space: the number in `S(5)`, 0 if there is none.
        platform: "tpu", "cuda" or "" if unknown.

    Returns:
        one or two words; an unknown number stays a number.

    Example:
        >>> format_memory_space(5), format_memory_space(1, "tpu"), format_memory_space(9)
        ('host', 'vmem', 'memory space 9')
    """
    return _SPACES.get(platform, _SPACES[""]).get(space, f"memory space {space}")


def format_precision(text: str | None) -> str:
    """The precision of a dot or convolution: one word if both operands have the same.

    Args:
        text: as HLO or StableHLO print it; None or "" for XLA's default.

    Returns:
        words; unknown text is returned as it is.

    Example:
        >>> format_precision("{highest,highest}"), format_precision("[#stablehlo<precision HIGH>]")
        ('highest', 'high')
        >>> format_precision("{default,highest}"), format_precision(""), format_precision("dot_bf16_bf16_f32_x3")
        ('default and highest', 'default', 'dot_bf16_bf16_f32_x3')
    """
    words = _PRECISION.findall((text or "").strip().lower())
    if not words and text and text != "none":
        return text
    return " and ".join(dict.fromkeys(words)) or "default"


def format_sharding(text: str | None) -> str:
    """A sharding as a sentence about devices and dimensions.

    Args:
        text: as HLO or StableHLO print it; None or "" for none.

    Returns:
        words; unknown text is returned as it is.

    Example:
        >>> format_sharding("{devices=[2,1]<=[2]}")
        'split over 2 devices on dimension 0'
        >>> format_sharding('#sdy.sharding<@mesh, [{"data"}, {}]>')
        'dimension 0 over axis "data"'
    """
    text = (text or "").strip()
    if not text or text == "none":
        return "none"
    if text.startswith("{{") and text.endswith("}}"):
        return "; ".join(format_sharding(part) for part in _parts(text[1:-1]))
    if text.startswith("{"):
        return _hlo_words(text)
    values = re.fullmatch(r"#sdy\.sharding_per_value<\[(.*)\]>", text, re.DOTALL)
    if values:
        return "; ".join(format_sharding(part) for part in _parts(values.group(1), "<>"))
    match = _SDY.match(text)
    return _sdy_words(match) if match else text


def format_partition(text: str | None) -> str:
    """A sharding as JAX writes it, `P('data', None)`, if it has only axis names; otherwise as a sentence.

    Args:
        text: as HLO or StableHLO print it; None or "" for none.

    Example:
        >>> format_partition('#sdy.sharding<@mesh, [{"data"}, {}]>'), format_partition("{devices=[2,1]<=[2]}")
        ("P('data', None)", 'split over 2 devices on dimension 0')
        >>> format_partition('#sdy.sharding<@mesh, [{"a", "b"}, {}]>'), format_partition('#sdy.sharding<@m, [{}]>')
        ("P(('a', 'b'), None)", 'replicated')
    """
    match = _SDY.match((text or "").strip())
    is_plain = match and match["mesh"].startswith("@") and not match["rest"] and "?" not in match["dims"]
    if match is None or not is_plain or re.search(r":\(\d|\}p\d", match["dims"]):
        return format_sharding(text)
    entries = [re.findall(r'"([^"]*)"', dimension) for dimension in re.findall(r"\{([^{}]*)\}", match["dims"])]
    if not any(entries):
        return "replicated"
    words = [
        f"'{axes[0]}'" if len(axes) == 1 else f"({', '.join(map(repr, axes))})" if axes else "None" for axes in entries
    ]
    return f"P({', '.join(words)}{',' * (len(words) == 1)})"


def shardings_of_values(text: str) -> list[str]:
    """The shardings in a list of values, such as those of `shard_map`; [] if the text is not such a list.

    Example:
        >>> shardings_of_values('#sdy.sharding_per_value<[<@m, [{"a"}, {}]>, <@m, [{}]>]>')
        ["P('a', None)", 'replicated']
    """
    is_list = is_sharding_of_values(text)
    return [format_partition(f"#sdy.sharding{one}") for one in _OF_VALUES.findall(text)] if is_list else []


def is_sharding_of_values(text: str) -> bool:
    """Whether a text is a list of the shardings of several values.

    Example:
        >>> is_sharding_of_values('#sdy.sharding_per_value<[<@m, [{"a"}]>]>'), is_sharding_of_values("{replicated}")
        (True, False)
    """
    return text.startswith("#sdy.sharding_per_value<")


def sharding_of_values(shardings: Iterable[str]) -> str:
    """The shardings of several values as one list.

    Example:
        >>> sharding_of_values(['#sdy.sharding<@m, [{"a"}]>', "#sdy.sharding<@m, [{}]>"])
        '#sdy.sharding_per_value<[<@m, [{"a"}]>, <@m, [{}]>]>'
    """
    values = ", ".join(text.removeprefix("#sdy.sharding") for text in shardings)
    return f"#sdy.sharding_per_value<[{values}]>"


def resharded_values(old: str, new: str, *, with_kept: bool = False) -> list[tuple[str, str]]:
    """The shardings of the values of a list that are sharded differently; [] if values came or went.

    Args:
        old, new: both lists.
        with_kept: whether the other values are returned too.

    Example:
        >>> one = '#sdy.sharding_per_value<[<@m, [{"a"}]>]>'
        >>> resharded_values(one, one.replace('"a"', "")), resharded_values(one, one.replace("]>]", "]>, <@m, []>]"))
        ([("P('a',)", 'replicated')], [])
    """
    before, after = shardings_of_values(old), shardings_of_values(new)
    is_alike = len(before) == len(after)
    return [pair for pair in zip(before, after, strict=True) if with_kept or pair[0] != pair[1]] if is_alike else []


def _parts(text: str, brackets: str = "{}") -> list[str]:
    """The bracketed parts of a list: `{a}, {b{c}}` -> `{a}`, `{b{c}}`."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char == brackets[0]:
            if depth == 0:
                start = index
            depth += 1
        elif char == brackets[1]:
            depth -= 1
            if depth == 0:
                parts.append(text[start : index + 1])
    return parts


def _hlo_words(text: str) -> str:
    word = text.strip("{}").split(" metadata=")[0].strip()
    if word in ("replicated", "manual", "unknown", "unreduced"):
        return word
    maximal = _MAXIMAL.match(text)
    if maximal:
        return f"on device {maximal.group(1)} only"
    match = _DEVICES.match(text)
    if match is None:
        return text
    sizes = [int(size) for size in match.group("sizes").split(",")]
    last = _last_dimensions(match.group("rest"))
    sizes, others = sizes[: len(sizes) - len(last)], sizes[len(sizes) - len(last) :]
    split = [f"{size} devices on dimension {n}" for n, size in enumerate(sizes) if size > 1]
    words = f"split over {' and '.join(split)}" if split else "replicated"
    for kind, count in zip(last, others, strict=False):
        if kind != "replicated":
            words += f", {kind} over {count} devices"
        elif split:
            words += f", each part on {count} devices"
    return words


def _last_dimensions(rest: str) -> list[str]:
    """The meaning of the last entries of `devices=[...]` that are not array dimensions."""
    listed = _LAST_DIMS.search(rest)
    if listed:
        return [kind.strip() for kind in listed.group(1).split(",")]
    return ["replicated"] if "last_tile_dim_replicate" in rest else []


def _sdy_words(match: re.Match[str]) -> str:
    sizes = dict(_SIZES.findall(match.group("mesh")))
    found = []
    for number, dimension in enumerate(re.findall(r"\{([^{}]*)\}", match.group("dims"))):
        axes = [_axis(name, part, sizes) for name, part in _AXIS.findall(dimension)]
        if axes:
            found.append(f"dimension {number} over {' and '.join(axes)}")
        elif "?" in dimension:
            found.append(f"dimension {number} open")
    rest = match.group("rest")
    for word in ("replicated", "unreduced"):
        named = re.search(rf"{word}=\{{([^}}]*)\}}", rest)
        if named:
            found.append(f"{word} over {' and '.join(_axis(n, p, sizes) for n, p in _AXIS.findall(named.group(1)))}")
    return ", ".join(found) if found else "replicated"


def _axis(name: str, part: str, sizes: dict[str, str]) -> str:
    size = part or sizes.get(name, "")
    return f'axis "{name}" ({size} devices)' if size else f'axis "{name}"'


_OPEN = re.compile(r"#sdy\.sharding<@\w+, \[(?:\{\?\}(?:, )?)*\]>")
_COMPUTE_TYPE = re.compile(r'_xla_compute_type\s*=\s*"([^"]*)"')


def places_nothing(instruction: Instruction, module: Module) -> bool:
    """Whether a sharding of StableHLO leaves everything open, as those that JAX writes of its own accord.

    It names a mesh without axes (for keys of random numbers), or it is that of a number, or each dimension is open and
    split over no axis (in a `shard_map` over some of the axes).

    Args:
        instruction: with or without a sharding.
        module: which has the mesh.

    Example:
        >>> from hlodiff.hlo import Shape
        >>> module = Module("m", "stablehlo", (), 0)
        >>> [
        ...     places_nothing(Instruction("a", "add", Shape("f32", (8,)), attributes=(("sharding", text),)), module)
        ...     for text in ("#sdy.sharding<@mesh, [{?}]>", "#sdy.sharding<@mesh, [{}]>")
        ... ]
        [True, False]
    """
    sharding = instruction.attribute("sharding") or ""
    found = _SDY.match(sharding)
    is_on_no_mesh = found is not None and module.attribute(f"sdy.mesh {found['mesh']}") == "<[]>"
    return is_on_no_mesh or _OPEN.fullmatch(sharding) is not None


def placements(module: Module) -> dict[str, Any]:
    """The placement table of a program.

    Args:
        module: a program of either stage.

    Returns:
        `compute`: ops by where they run ("device", "host", or XLA's execution thread); `memory` (compiled programs
        only): values and bytes by memory space, without values inside fusions, which have no buffer; `parameters` and
        `results`: those that have a sharding, a memory space other than the device's, or a donated buffer, by position.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> placements(read_hlo("HloModule m\\nENTRY e {\\n  ROOT p = f32[2]{0:S(5)} parameter(0)\\n}"))["memory"]
        {'host': {'values': 1, 'bytes': 8}}
    """
    table: dict[str, Any] = {"compute": compute_places(module)}
    if module.stage == "compiled":
        platform = platform_of(module)
        spaces: dict[int, dict[str, int]] = {}
        for computation, weight in zip(module.computations, multiplicities(module), strict=True):
            inside = weight.kinds.get("fusion", 0) + weight.kinds.get("reduction", 0)
            times = max(weight.total - inside, 0)
            for instruction in computation.instructions if times else ():
                if _has_buffer(instruction, "entry" in weight.kinds):
                    for leaf in instruction.shape.leaves:
                        record = spaces.setdefault(leaf.memory_space, {"values": 0, "bytes": 0})
                        record["values"] += times
                        record["bytes"] += times * leaf.bytes
        table["memory"] = {format_memory_space(space, platform): spaces[space] for space in sorted(spaces)}
    table["parameters"] = _parameters(module)
    table["results"] = _results(module)
    return {name: part for name, part in table.items() if part}


def compute_places(module: Module) -> dict[str, int]:
    """Ops of a program by where they run, "device" first.

    Example:
        >>> compute_places(Module("m", "compiled", (), 0))
        {}
    """
    counts: dict[str, int] = {}
    later = continued_steps(module)
    for index, (computation, weight) in enumerate(zip(module.computations, multiplicities(module), strict=True)):
        for position, instruction in enumerate(computation.instructions if weight.total else ()):
            if (index, position) not in later and counted_as(module, instruction):
                place = compute_place(computation, instruction)
                counts[place] = counts.get(place, 0) + weight.total
    return dict(sorted(counts.items(), key=lambda item: (item[0] != "device", item[0])))


def compute_place(computation: Computation, instruction: Instruction) -> str:
    """Where one instruction runs: "device", "host", or the name of XLA's execution thread or compute type.

    Example:
        >>> compute_place(Computation("c", (), 0, execution_thread="host"), None)
        'host'
    """
    if computation.execution_thread:
        return computation.execution_thread
    for name, value in instruction.attributes:
        if name.endswith("frontend_attributes") and (found := _COMPUTE_TYPE.search(value)):
            return found.group(1)
    return "device"


def donations(module: Module) -> dict[int, str]:
    """Which entry parameters are donated, and to what.

    Args:
        module: a program of either stage.

    Returns:
        by parameter number: "result 2", "result" where there is only one, or "any result".

    Example:
        >>> donations(Module("m", "compiled", (), 0, (("input_output_alias", "{ {1}: (0, {}, may-alias) }"),)))
        {0: 'result 1'}
    """
    found: dict[int, str] = {}
    for one in donated_parts(module.attributes):
        part = f" (part {one.inside})" if one.inside else ""
        if one.result is not None:
            found[one.parameter] = f"result {one.result}".strip() + part
        else:
            found.setdefault(one.parameter, "any result")
    if module.stage == "stablehlo" and module.computations:
        for number, instruction in enumerate(_entry_parameters(module)):
            alias = instruction.attribute("tf.aliasing_output")
            if alias is not None:
                found[number] = f"result {alias.partition(' ')[0]}"
            elif instruction.attribute("jax.buffer_donor") == "true":
                found[number] = "any result"
    return dict(sorted(found.items()))


def _has_buffer(instruction: Instruction, in_entry: bool) -> bool:
    """Whether an op writes a value to a buffer: an async op counts at its `-done`."""
    if instruction.opcode == "parameter":
        return in_entry
    return instruction.opcode not in BOOKKEEPING and not instruction.opcode.endswith("-start")


def _entry_parameters(module: Module) -> list[Instruction]:
    entry = module.entry_computation
    return [entry.instructions[index] for index in entry.parameters]


def _parameters(module: Module) -> dict[int, dict[str, str]]:
    if not module.computations:
        return {}
    platform = platform_of(module)
    donated = donations(module)
    partitioned = bool(module.attribute("num_partitions"))
    table: dict[int, dict[str, str]] = {}
    for number, instruction in enumerate(_entry_parameters(module)):
        row: dict[str, str] = {}
        sharding = next(
            (v for k, v in instruction.attributes if k in ("sharding", "sdy.sharding", "mhlo.sharding")), ""
        )
        # Every argument of an unpartitioned program says "replicated".
        if sharding and (partitioned or format_sharding(sharding.strip('"')) != "replicated"):
            row["sharding"] = format_sharding(sharding.strip('"'))
        spaces = dict.fromkeys(leaf.memory_space for leaf in instruction.shape.leaves)
        if any(spaces):
            row["memory"] = ", ".join(format_memory_space(space, platform) for space in spaces)
        kind = instruction.attribute("mhlo.memory_kind")
        if kind:
            row["memory"] = kind.strip('"')
        if number in donated:
            row["donated_to"] = donated[number]
        if row:
            table[number] = row
    return table


def _results(module: Module) -> dict[int, dict[str, str]]:
    if not module.computations:
        return {}
    entry = module.entry_computation
    root = entry.instructions[entry.root]
    table: dict[int, dict[str, str]] = {}
    if module.stage == "compiled":
        platform = platform_of(module)
        for number, leaf in enumerate(root.shape.leaves):
            if leaf.memory_space:
                table[number] = {"memory": format_memory_space(leaf.memory_space, platform)}
        return table
    for name, value in root.attributes:
        match = re.fullmatch(r"result(\d{1,9})\.(sdy\.sharding|mhlo\.sharding|mhlo\.memory_kind)", name)
        if match:
            words = value.strip('"')
            row = table.setdefault(int(match.group(1)), {})
            row["memory" if "memory" in name else "sharding"] = words if "memory" in name else format_sharding(words)
    return table
