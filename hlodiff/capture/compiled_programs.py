"""One program that JAX compiled in an observed run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hlodiff.capture import private
from hlodiff.traces.records import Call, Function


@dataclass(slots=True)
class Program:
    """A program that was compiled, or read from JAX's compilation cache. Texts are made when they are asked for.

    Args:
        order: 0, 1, ... over all traces and programs that were observed.
        name: JAX's name of it, such as `jit_step`.
        function: the function it is of: what was called, or of that name where it was compiled outside of any call (a
            backward pass, `.lower().compile()`); None for an eager operation.
        call: the call it was compiled for; None where there is none.
        traced: whether that call was traced anew; if not, JAX compiled a trace that it had once more.
        eager: whether it is one of JAX's own operations, run by itself.
        platform: "cpu", "tpu" or "gpu".
        from_cache: whether it came from the persistent compilation cache.
        seconds: of "lower" (to StableHLO) and "compile".
        module: JAX's MLIR module, None once forgotten.
        executable: the loaded executable, None where it is not kept.
    """

    order: int
    name: str
    function: Function | None
    call: Call | None
    traced: bool
    eager: bool
    platform: str
    from_cache: bool
    seconds: dict[str, float]
    module: Any = field(repr=False)
    executable: Any = field(repr=False)
    _text: str = field(default="", repr=False)

    def stablehlo(self) -> str:
        """The StableHLO that was compiled, with locations.

        Returns:
            text as `jax.stages.Lowered.as_text(debug_info=True)` gives it; "" once forgotten.
        """
        if not self._text and self.module is not None:
            self._text = str(self.module.operation.get_asm(enable_debug_info=True))
        return self._text

    def hlo(self) -> str:
        """The compiled HLO with its constants, of all modules; "" where the executable is not kept."""
        if self.executable is None:
            return ""
        return "\n".join(private.hlo_with_constants(module) for module in self.executable.hlo_modules())

    def forget(self, text: bool = False) -> None:
        """Let the module and the executable go, and with them their memory.

        Args:
            text: whether StableHLO that was asked for goes too.
        """
        self.module = self.executable = None
        if text:
            self._text = ""
