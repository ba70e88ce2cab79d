"""The normalizer: an ordered tuple of passes, each of which removes one kind of noise and nothing else."""

from __future__ import annotations

from hlodiff.hlo.model import Module
from hlodiff.hlo.printer import print_hlo
from hlodiff.normalizer.constants import Constants
from hlodiff.normalizer.passes import IGNORING, PASSES, Pass, passes_for

__all__ = ["IGNORING", "PASSES", "Constants", "Pass", "normalize", "normalize_counted", "passes_for", "to_text"]


def normalize(module: Module, *, large_constants: Constants = "hash") -> Module:
    """The same program without noise: equal programs come out equal, byte for byte when printed.

    Args:
        module: a module of either stage, as read.
        large_constants: whether constants of more than 64 elements are compared, by their hash ("hash"), or only
            their type and shape ("ignore").

    Returns:
        A module of the same stage; `Instruction.line` is still the line that each instruction was read from.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> a = read_hlo("HloModule a\\nENTRY e {\\n  ROOT x.7 = f32[2]{0} parameter(0)\\n}")
        >>> b = read_hlo("HloModule b\\nENTRY f {\\n  ROOT y.9 = f32[2]{0} parameter(0)\\n}")
        >>> to_text(normalize(a)) == to_text(normalize(b))
        True
    """
    return normalize_counted(module, large_constants=large_constants)[0]


def normalize_counted(module: Module, *, large_constants: Constants = "hash") -> tuple[Module, dict[str, int]]:
    """Normalize, and count the places that each pass changed.

    Args:
        module: a module of either stage, as read.
        large_constants: as for `normalize`.

    Returns:
        The normalized module, and counts by name in the order of PASSES, of the passes that changed something.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> normalize_counted(read_hlo("HloModule a\\nENTRY e {\\n  ROOT x.7 = f32[2]{0} parameter(0)\\n}"))[1]
        {'module_name': 1, 'names': 1}
    """
    counts: dict[str, int] = {}
    for step in passes_for(module):
        step = IGNORING.get(step.name, step) if large_constants == "ignore" else step
        module, count = step.apply(module)
        if count:
            counts[step.name] = count
    return module, counts


def to_text(module: Module) -> str:
    """Print a normalized module: HLO text for compiled programs, MLIR for StableHLO.

    Args:
        module: what `normalize` returned.

    Returns:
        Text that XLA's or MLIR's own parser accepts.

    Example:
        >>> from hlodiff.hlo.parser import read_hlo
        >>> print(to_text(normalize(read_hlo("HloModule a\\nENTRY e {\\n  ROOT x.7 = f32[2]{0} parameter(0)\\n}"))))
        HloModule program
        <BLANKLINE>
        ENTRY %main {
          ROOT %p0 = f32[2]{0} parameter(0)
        }
        <BLANKLINE>
    """
    if module.stage == "stablehlo":
        from hlodiff.hlo.stablehlo_printer import print_stablehlo

        return print_stablehlo(module)
    return print_hlo(module)
