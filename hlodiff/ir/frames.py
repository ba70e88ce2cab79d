"""Python files as every reader knows them, whatever machine a program was compiled on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hlodiff.ir.model import Frame

# What follows one of these is the same on every machine. Programs of other machines and systems are read too.
_PACKAGES = re.compile(r".*?(?:^|[/\\])(?:site-packages|dist-packages)[/\\](?!.*[/\\](?:site|dist)-packages[/\\])")
_PYTHON = re.compile(r".*(?:^|[/\\])(?=python3\.\d+[/\\])")
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
_INSTALLED = "site-packages/"


def portable_file(file: str, root: str = "") -> str:
    """A file without the machine: relative to the project, to where packages are installed, else its name.

    Args:
        file: a path of this machine or of another one, or a path that is portable already.
        root: the project's folder: files below it are named relative to it; "" where there is none.

    Returns:
        a path with `/`; a package's starts with `site-packages/`, Python's own with its version.

    Example:
        >>> portable_file("/srv/project/model.py", "/srv/project"), portable_file("/srv/other/model.py")
        ('model.py', 'model.py')
        >>> portable_file("/srv/project/.venv/lib/python3.11/site-packages/equinox/nn/_mlp.py", "/srv/project")
        'site-packages/equinox/nn/_mlp.py'
    """
    # Packages first: a virtual environment often lies inside the project, and below a folder of Python's name.
    for pattern, head in ((_PACKAGES, _INSTALLED), (_PYTHON, "")):
        match = pattern.match(file)
        if match:
            return head + file[match.end() :].replace("\\", "/")
    plain, base = file.replace("\\", "/"), root.replace("\\", "/").rstrip("/") + "/"
    if root and plain.startswith(base):
        return plain[len(base) :]
    return plain.rpartition("/")[2] if _ABSOLUTE.match(file) else plain


def shown_file(file: str, root: str = "") -> str:
    """A file as a report shows it: a package's begins with the package.

    Example:
        >>> shown_file("/venv/lib/python3.11/site-packages/diffrax/_integrate.py")
        'diffrax/_integrate.py'
    """
    return portable_file(file, root).removeprefix(_INSTALLED)


def is_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python itself, rather than to the user.

    Example:
        >>> is_library("/usr/lib/python3/dist-packages/jax/a.py"), is_library("python3.11/functools.py")
        (True, True)
    """
    return bool(_PACKAGES.match(file) or _PYTHON.match(file)) or file.startswith("<")


def own_frame(source: Iterable[Frame]) -> Frame | None:
    """The innermost frame of the user's own code; the innermost of all where every frame is a library's.

    Example:
        >>> own_frame((Frame("site-packages/jax/nn.py", 9, "gelu"), Frame("model.py", 31, "loss"))).file
        'model.py'
    """
    frames = tuple(source)
    own = (frame for frame in frames if not is_library(frame.file))
    return next(own, frames[0] if frames else None)
