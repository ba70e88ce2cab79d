"""The artifact that a run uploaded: an untrusted zip file, read in memory and never unpacked."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass

from hlodiff.errors import CodeHostError

LARGEST = 64 * 1024**2  # bytes, of the zip file and of the result in it; `hlodiff diff` reads no more either
RESULT, NUMBER = "hlodiff.json", "pull-request"
_MOST_FILES = 1_000
_NUMBER = re.compile(r"[1-9][0-9]{0,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UploadedArtifact:
    """What is taken from an artifact.

    Args:
        result: the text of the result; None where the run left none.
        number: the pull request that it says it belongs to; None where it does not say. Believe it only after asking.
    """

    result: str | None
    number: int | None


def read_artifact(content: bytes, where: str) -> UploadedArtifact:
    """Read the two files that count. No name in the zip file becomes a path, so none can lead anywhere.

    Args:
        content: the zip file.
        where: what it is called, for errors.

    Returns:
        what it holds.

    Raises:
        CodeHostError: it is damaged, has too many files or a file too large, or names one twice.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = packed.infolist()
            if len(members) > _MOST_FILES:
                raise CodeHostError(f"holds {len(members):,} files; {_MOST_FILES:,} are the most", where=where)
            result = _member(packed, members, RESULT, LARGEST, where)
            number = _member(packed, members, NUMBER, 64, where)
    except CodeHostError:
        raise
    except Exception as error:  # zipfile has errors of its own, and each way to pack has others
        raise CodeHostError(f"cannot be read: {error}", where=where) from None
    return UploadedArtifact(result, _number(number, where))


def _member(packed: zipfile.ZipFile, members: list[zipfile.ZipInfo], name: str, limit: int, where: str) -> str | None:
    found = [one for one in members if one.filename == name]
    if len(found) > 1:
        raise CodeHostError(f"names {name} {len(found)} times", where=where)
    if not found:
        return None
    # The size in the zip file is untrusted too.
    with packed.open(found[0]) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise CodeHostError(f"{name} is larger than {limit:,} bytes", where=where)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise CodeHostError(f"{name} is not UTF-8 text", where=where) from None


def _number(text: str | None, where: str) -> int | None:
    if text is None or not text.strip():
        return None
    if not _NUMBER.fullmatch(text.strip()):
        raise CodeHostError(f"{NUMBER} holds no number", where=where)
    return int(text)
