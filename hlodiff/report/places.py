"""Where things are, in words: Python frames without the machine, memory spaces without quotes."""

from __future__ import annotations

from collections.abc import Sequence

from hlodiff.hlo.metadata import own_frame, shown_file
from hlodiff.hlo.model import Frame
from hlodiff.report.view import Place

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


def format_place(where: Place | None) -> str:
    """`model.py:31 (loss)`, and "" for no place.

    Example:
        >>> format_place(Place("model.py", 31, "loss"))
        'model.py:31 (loss)'
    """
    if where is None:
        return ""
    return f"{where.file}:{where.line}" + (f" ({where.function})" if where.function else "")


def format_targets(targets: Sequence[str]) -> str:
    """` on cpu, tpu-v5e`; "" where targets are not known.

    Example:
        >>> format_targets(("cpu", "tpu-v5e")), format_targets(())
        (' on cpu, tpu-v5e', '')
    """
    return f" on {', '.join(targets)}" if any(targets) else ""


def inside(file: str) -> bool:
    """Whether a path stays inside the folder it starts from.

    Example:
        >>> inside("pkg/model.py"), inside("../x"), inside("/etc/passwd"), inside("<stdin>")
        (True, False, False, False)
    """
    parts = file.replace("\\", "/").split("/")
    return bool(file) and ".." not in parts and parts[0] != "" and ":" not in parts[0] and not file.startswith("<")


def line_in_repository(where: Place | None, folder: str) -> tuple[str, int] | None:
    """The file below the top of the repository, and the line; None where the repository does not have it.

    Args:
        where: a line of the project or of a library.
        folder: the project's folder below the top, see `ReportView`.

    Example:
        >>> line_in_repository(Place("model.py", 31), "packages/ml"), line_in_repository(Place("../x.py", 1), "")
        (('packages/ml/model.py', 31), None)
    """
    if where is None or where.library or not inside(where.file):
        return None
    return f"{folder}/{where.file}" if folder else where.file, max(where.line, 1)


def format_memory_space(space: str) -> str:
    """A memory space: `vmem`, `device memory`, `pinned_host`.

    Example:
        >>> format_memory_space("host"), format_memory_space('"pinned_host"'), format_memory_space("")
        ('host memory', 'pinned_host', 'device memory')
    """
    word = space.strip('"') or "device"
    return _SPACES.get(word, word)
