"""No host callback: `jax.debug.print`, `pure_callback` and `io_callback` stop the device until Python has answered.

They come in by a forgotten debug print or by a library's error checks, and tie the program to one process.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.config_policy import RuleUse
from hlodiff.diff.metrics import custom_call_target
from hlodiff.ir.model import Instruction
from hlodiff.policy.programs import Both, Hit, find, hits

ADVICE = "take out debug prints; for Equinox set EQX_ON_ERROR=nan in the key `env`"


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Calls of Python and transfers to and from its process, as they are written, else as they are compiled."""
    for program in both.programs():
        assert program.now is not None
        places = find(program.now, _calls_host)
        yield from hits(places, lambda place: f"{_what(place.instruction)} calls back to Python on the host")
        if places:
            return


def _calls_host(it: Instruction) -> bool:
    if it.opcode in ("custom-call", "custom_call", "custom-call-start"):
        return "callback" in custom_call_target(it)
    if it.opcode in ("infeed", "outfeed"):
        return True
    host = it.attribute("is_host_transfer") == "true"
    return host and it.opcode in ("send", "recv")


def _what(it: Instruction) -> str:
    return custom_call_target(it) or it.opcode
