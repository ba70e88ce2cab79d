"""Plain words for placement: memory spaces, shardings, donation."""

from __future__ import annotations

import re

from hlodiff.ir.model import Module

# XLA's numbers. 0 and 5 mean the same everywhere (`Layout::kDefaultMemorySpace`, `kHostMemorySpace`), the others are
# each backend's own: on TPU 1 is vector memory, 2 holds semaphores, 6 scalars; on CUDA 1 is memory for collectives.
_SPACES = {
    "": {0: "device", 1: "fast memory", 5: "host"},
    "tpu": {0: "device", 1: "vmem", 2: "sync flags", 5: "host", 6: "smem"},
    "cuda": {0: "device", 1: "collective memory", 2: "temporary memory", 5: "host"},
}
CUDA_SIGNS = ('"operation_queue_id"', '"gpu_backend_config"', '"fusion_backend_config"', "__cublas", "__cudnn")
_DEVICES = re.compile(r"\{devices=\[(?P<sizes>[\d,]+)\](?P<rest>.*)\}$", re.DOTALL)
_LAST_DIMS = re.compile(r"last_tile_dims=\{([^}]*)\}")
_MAXIMAL = re.compile(r"\{maximal device=(\d+)[^}]*\}$")
_SDY = re.compile(r"(?:#sdy\.sharding)?<(?P<mesh>@[\w\"]+|mesh<.*?>), \[(?P<dims>.*?)\](?P<rest>.*)>$", re.DOTALL)
_AXIS = re.compile(r'"([^"]*)"(?::\(\d+\)(\d+))?')
_PRECISION = re.compile(r"(?:(?<=[{,])|(?<=precision ))(default|high|highest|packed_nibble)(?=[,}>])")
_SIZES = re.compile(r'"([^"]*)"=(\d+)')


def platform_of(module: Module) -> str:
    """Which backend compiled a program, as far as the program itself shows it.

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
            if any(leaf.layout and leaf.layout.tiling for leaf in instruction.shape.leaves()):
                return "tpu"
            for name, value in instruction.attributes:
                if name in ("backend_config", "custom_call_target") and any(sign in value for sign in CUDA_SIGNS):
                    return "cuda"
    return ""


def memory_space_in_words(space: int, platform: str = "") -> str:
    """What a memory space of a layout is called.

    Args:
        space: the number in `S(5)`, 0 where there is none.
        platform: "tpu", "cuda" or "" where it is not known.

    Returns:
        one or two words; a number that we do not know stays a number.

    Example:
        >>> memory_space_in_words(5), memory_space_in_words(1, "tpu"), memory_space_in_words(9)
        ('host', 'vmem', 'memory space 9')
    """
    return _SPACES.get(platform, _SPACES[""]).get(space, f"memory space {space}")


def precision_in_words(text: str | None) -> str:
    """The precision of a dot or convolution: one word where both operands have the same.

    Args:
        text: as HLO or StableHLO print it; None or "" for XLA's default.

    Returns:
        words; text that is not understood comes back as it is.

    Example:
        >>> precision_in_words("{highest,highest}"), precision_in_words("[#stablehlo<precision HIGH>]")
        ('highest', 'high')
        >>> precision_in_words("{default,highest}"), precision_in_words(""), precision_in_words("dot_bf16_bf16_f32_x3")
        ('default and highest', 'default', 'dot_bf16_bf16_f32_x3')
    """
    words = _PRECISION.findall((text or "").strip().lower())
    if not words and text and text != "none":
        return text
    return " and ".join(dict.fromkeys(words)) or "default"


def sharding_in_words(text: str | None) -> str:
    """A sharding as a sentence about devices and dimensions.

    Args:
        text: as HLO or StableHLO print it; None or "" for none.

    Returns:
        words; text that is not understood comes back as it is.

    Example:
        >>> sharding_in_words("{devices=[2,1]<=[2]}")
        'split over 2 devices on dimension 0'
        >>> sharding_in_words('#sdy.sharding<@mesh, [{"data"}, {}]>')
        'dimension 0 over axis "data"'
    """
    text = (text or "").strip()
    if not text or text == "none":
        return "none"
    if text.startswith("{{") and text.endswith("}}"):
        return "; ".join(sharding_in_words(part) for part in _parts(text[1:-1]))
    if text.startswith("{"):
        return _hlo_words(text)
    values = re.fullmatch(r"#sdy\.sharding_per_value<\[(.*)\]>", text, re.DOTALL)
    if values:
        return "; ".join(sharding_in_words(part) for part in _parts(values.group(1), "<>"))
    match = _SDY.match(text)
    return _sdy_words(match) if match else text


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
    """What the last entries of `devices=[...]` are that are no dimensions of the array."""
    listed = _LAST_DIMS.search(rest)
    if listed:
        return [kind.strip() for kind in listed.group(1).split(",")]
    return ["replicated"] if "last_tile_dim_replicate" in rest else []


def _sdy_words(match: re.Match[str]) -> str:
    sizes = dict(_SIZES.findall(match.group("mesh")))
    found = []
    for number, dimension in enumerate(re.findall(r"\{([^}]*)\}", match.group("dims"))):
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
