"""Textconv: the list of a program's operations that `git log -p`, `git show` and `git blame` compare line by line."""

from __future__ import annotations

from hashlib import file_digest, sha256
from pathlib import Path

from hlodiff.cli.git_sides import LARGEST, GitSide
from hlodiff.errors import HlodiffError
from hlodiff.ir import read_text
from hlodiff.report.escape import printable
from hlodiff.report.listing import program_listing


def textconv(file: Path) -> str:
    """A program as lines that git can compare; where it is none, why, and its own text.

    Args:
        file: where git has put the content for the moment, under the name it has.

    Returns:
        text ending in a newline.

    Raises:
        OSError: it cannot be read.
    """
    side = GitSide(file.name, file.name, file, "", "100644")
    try:
        text = (side.content() or b"").decode("utf-8").replace("\r\n", "\n")
        return program_listing(read_text(text, path=file.name.removesuffix(".gz")), text) if text else ""
    except HlodiffError as error:
        why = str(error).partition("\n")[0]
    except (UnicodeDecodeError, RecursionError) as error:
        why = f"{file.name}: {type(error).__name__}"
    return f"hlodiff cannot list this program: {printable(why)}\n{_as_text(file)}"


def _as_text(file: Path) -> str:
    size = file.stat().st_size
    if size > LARGEST:
        with file.open("rb") as stream:
            return f"{size:,} bytes, sha256 {file_digest(stream, 'sha256').hexdigest()}\n"
    content = file.read_bytes()
    if b"\0" in content[:8000]:
        return f"binary, {size:,} bytes, sha256 {sha256(content).hexdigest()}\n"
    return printable(content.decode("utf-8", "backslashreplace"), lines=True)
