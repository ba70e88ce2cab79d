"""Where things are, in words: Python frames without the machine, memory spaces without quotes."""

from __future__ import annotations

from hlodiff.ir.frames import own_frame, shown_file
from hlodiff.ir.model import Frame

_SPACES = {"device": "device memory", "host": "host memory"}


def place(source: tuple[Frame, ...], root: str = "") -> str:
    """Where an instruction comes from: `model.py:31 (loss)`.

    Example:
        >>> place((Frame("/opt/site-packages/jax/_src/nn.py", 9, "gelu"), Frame("model.py", 31, "loss")))
        'model.py:31 (loss)'
    """
    frame = own_frame(source)
    return _shown(frame, root) if frame else ""


def shown_stack(source: tuple[Frame, ...], root: str = "") -> tuple[str, ...]:
    """A whole Python call stack, innermost first: `jax/nn.py:9 (gelu)`, `model.py:31 (loss)`.

    Example:
        >>> shown_stack((Frame("/opt/site-packages/jax/_src/nn.py", 9, "gelu"), Frame("model.py", 31, "loss")))
        ('jax/_src/nn.py:9 (gelu)', 'model.py:31 (loss)')
    """
    return tuple(_shown(frame, root) for frame in source)


def _shown(frame: Frame, root: str) -> str:
    function = frame.function.replace("<locals>.", "")
    return f"{shown_file(frame.file, root)}:{frame.line}" + (f" ({function})" if function else "")


def place_in_words(space: str) -> str:
    """A memory space: `vmem`, `device memory`, `pinned_host`.

    Example:
        >>> place_in_words("host"), place_in_words('"pinned_host"'), place_in_words("")
        ('host memory', 'pinned_host', 'device memory')
    """
    word = space.strip('"') or "device"
    return _SPACES.get(word, word)
