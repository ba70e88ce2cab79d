"""Which errors of JAX and XLA mean "not for this target", and what to do about each."""

from __future__ import annotations

from hlodiff.capture.imports import one_line
from hlodiff.capture.targets import TargetName

_LEAVE_OUT = "leave this target out for the function: @hlodiff.register(targets=[...])"
_CALLBACK = (
    'for Equinox\'s errors (error_if, so most of diffrax) set env = { EQX_ON_ERROR = "nan" } in [tool.hlodiff]; '
    f"else remove jax.debug.print and callbacks, or {_LEAVE_OUT}"
)


def cannot_open(name: TargetName, error: Exception) -> tuple[str, str]:
    """Why a target could not be opened, and what to do.

    Args:
        name: the target.
        error: what JAX raised.

    Returns:
        reason and advice.

    Example:
        >>> from hlodiff.capture.targets import parse
        >>> cannot_open(parse("attached"), RuntimeError("no backend"))[0]
        'this machine has no accelerator that JAX can use (RuntimeError: no backend)'
    """
    if name.kind == "attached":
        return f"this machine has no accelerator that JAX can use ({one_line(error)})", ""
    return f"`{name.name}` cannot be opened: {one_line(error)}", "`hlodiff targets` tells what is missing"


def refusal(name: TargetName, error: Exception) -> tuple[str, str] | None:
    """Whether an error means that the program cannot be compiled for the target at all.

    Args:
        name: the target.
        error: what lowering or compiling raised.

    Returns:
        reason and advice; None for an error that is the function's own.

    Example:
        >>> from hlodiff.capture.targets import parse
        >>> refusal(parse("cpu"), TypeError("mine")) is None
        True
    """
    text = str(error)
    # Seen with jax.debug.print, pure_callback and error_if: their lowering asks for a GPU that runs.
    if "Unknown backend: 'gpu' requested" in text or "Unknown backend: 'cuda' requested" in text:
        return "it calls back into Python, which JAX lowers for CUDA only where a GPU is attached", _CALLBACK
    if "ptxas" in text.lower():
        return f"XLA found no ptxas that it can use ({one_line(error)})", "pip install nvidia-cuda-nvcc-cu12"
    if "Only interpret mode is supported on CPU backend" in text:
        return "a Pallas kernel cannot be compiled for the CPU", f"{_LEAVE_OUT}, or use interpret=True"
    if isinstance(error, NotImplementedError) or text.startswith("UNIMPLEMENTED"):
        return f"JAX or XLA cannot compile it for `{name.name}` ({one_line(error)})", _LEAVE_OUT
    return None
