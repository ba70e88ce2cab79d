"""No custom call but these: what XLA cannot look into it can neither fuse nor partition, and it may be missing.

A library call (`lapack_*`, `__cublas$gemm`) or a kernel that appears or changes its name is a change of backend code.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from hlodiff.config_policy import RuleUse
from hlodiff.diff.metrics import custom_call_target
from hlodiff.ir.model import Instruction
from hlodiff.policy.programs import Both, Hit, find, hits

ADVICE = "if the call is meant, add its target to `only`"


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Custom calls of the compiled program whose target no pattern of `only` matches."""
    allowed = use.listed("only")

    def is_other(it: Instruction) -> bool:
        if it.opcode not in ("custom-call", "custom-call-start"):
            return False
        return not any(fnmatchcase(custom_call_target(it), pattern) for pattern in allowed)

    if both.compiled is not None and both.compiled.now is not None:
        yield from hits(
            find(both.compiled.now, is_other),
            lambda place: f"calls {custom_call_target(place.instruction)}, which is not in `only`",
            lambda place: f"custom call {custom_call_target(place.instruction)}",
        )
