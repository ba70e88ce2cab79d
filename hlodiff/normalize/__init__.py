"""The normalizer: an ordered tuple of named rules that take away what means nothing (NOISE), and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from hlodiff.ir.hlo_printer import print_hlo
from hlodiff.ir.model import Module, Stage
from hlodiff.normalize.compiled_rules import COMPILED_RULES
from hlodiff.normalize.literals import Constants, ignored_literals
from hlodiff.normalize.rule import Rule
from hlodiff.normalize.stablehlo_constants import ignore_constants
from hlodiff.normalize.stablehlo_rules import STABLEHLO_RULES

RULES: tuple[Rule, ...] = (*COMPILED_RULES, *STABLEHLO_RULES)

_IGNORING: tuple[tuple[str, tuple[Stage, ...], Callable[[Module], tuple[Module, int]]], ...] = (
    ("large_literals", ("compiled",), ignored_literals),
    ("large_constants", ("stablehlo",), ignore_constants),
)
# What takes the place of two of them where a project says large_constants = "ignore".
IGNORING: dict[str, Rule] = {
    name: Rule(
        name, stages, apply,
        "The numbers of constants of more than 64 elements; type, shape and bytes stay.",
        "Another table of the same type and shape.",
    )
    for name, stages, apply in _IGNORING
}  # fmt: skip

__all__ = ["IGNORING", "RULES", "Constants", "Rule", "normalize", "normalize_counted", "to_text"]


def normalize(module: Module, *, large_constants: Constants = "hash") -> Module:
    """The same program without noise: equal programs come out equal, byte for byte when printed.

    Args:
        module: a module of either stage, as read.
        large_constants: whether constants of more than 64 elements are compared, by their hash ("hash"), or only
            their type and shape ("ignore").

    Returns:
        A module of the same stage; `Instruction.line` still says where each instruction stood.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> a = read_hlo("HloModule a\\nENTRY e {\\n  ROOT x.7 = f32[2]{0} parameter(0)\\n}")
        >>> b = read_hlo("HloModule b\\nENTRY f {\\n  ROOT y.9 = f32[2]{0} parameter(0)\\n}")
        >>> to_text(normalize(a)) == to_text(normalize(b))
        True
    """
    return normalize_counted(module, large_constants=large_constants)[0]


def normalize_counted(module: Module, *, large_constants: Constants = "hash") -> tuple[Module, dict[str, int]]:
    """Normalize, and say for each rule that did something in how many places it did.

    Args:
        module: a module of either stage, as read.
        large_constants: as for `normalize`.

    Returns:
        The normalized module, and counts by rule name in the order of RULES.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> normalize_counted(read_hlo("HloModule a\\nENTRY e {\\n  ROOT x.7 = f32[2]{0} parameter(0)\\n}"))[1]
        {'module_name': 1, 'names': 1}
    """
    counts: dict[str, int] = {}
    for rule in RULES:
        if module.stage in rule.stages:
            rule = IGNORING.get(rule.name, rule) if large_constants == "ignore" else rule
            module, count = rule.apply(module)
            if count:
                counts[rule.name] = count
    return module, counts


def to_text(module: Module) -> str:
    """Print a normalized module: HLO text for compiled programs, MLIR for StableHLO.

    Args:
        module: what `normalize` returned.

    Returns:
        Text that XLA's or MLIR's own parser accepts.

    Example:
        >>> from hlodiff.ir.hlo_reader import read_hlo
        >>> print(to_text(normalize(read_hlo("HloModule a\\nENTRY e {\\n  ROOT x.7 = f32[2]{0} parameter(0)\\n}"))))
        HloModule program
        <BLANKLINE>
        ENTRY %main {
          ROOT %p0 = f32[2]{0} parameter(0)
        }
        <BLANKLINE>
    """
    if module.stage == "stablehlo":
        from hlodiff.ir.stablehlo_printer import print_stablehlo

        return print_stablehlo(module)
    return print_hlo(module)
