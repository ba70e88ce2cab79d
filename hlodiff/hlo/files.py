"""Reads program files. The format follows from the content, then from the suffix."""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from os import PathLike, fspath
from pathlib import Path

from hlodiff.errors import ReadError
from hlodiff.hlo.model import Module, without_config
from hlodiff.hlo.parser import read_hlo

_STABLEHLO = re.compile(r'(?:#\w+ = |module\b|"builtin\.module"|func\.func\b|!\w+ = )')
_COMMENT = re.compile(r"(?:\s+|//[^\n]*\n?)*")
# A program of 1M instructions has 150 MB of text; a larger file is an accident or an attack.
MAX_BYTES = 2 * 1024**3
_SMALL, _MOST_PACKED = 16 * 1024**2, 100  # programs compress to a tenth, blank lines to a thousandth
# Files of very short lines are refused: in every program seen so far, a line has more than 30 characters on average,
# and reading 200 MB of blank lines would take minutes.
_LARGE = 16 * 1024**2
_SHORTEST = 16  # minimum average line length in characters


def read(path: str | PathLike[str]) -> Module:
    """Read a program file.

    Args:
        path: compiled HLO text (`.hlo`, `.txt`), StableHLO (`.mlir`), an HLO proto (`.pb`), or one of them in gzip
            (`.gz`).

    Returns:
        The program; reading compiled HLO text imports neither jax nor jaxlib.

    Raises:
        ReadError: the file is missing, is not a program, or is broken, with line and column where there is one.

    Example:
        >>> read("compiled.hlo").entry_computation.name  # doctest: +SKIP
        'main'
    """
    return read_bytes(content_of(path), path=fspath(path))


def content_of(path: str | PathLike[str]) -> bytes:
    """The bytes of a file or pipe, up to the largest size that a program may have.

    Args:
        path: links are followed.

    Raises:
        ReadError: the file is missing, too large, or a device, which may never end.
    """
    name = fspath(path)
    try:
        with Path(name).open("rb", buffering=0) as file:
            about = os.fstat(file.fileno())
            if stat.S_ISBLK(about.st_mode) or (stat.S_ISCHR(about.st_mode) and not file.isatty()):
                raise ReadError("is a device, and no program", path=name)
            if about.st_size > MAX_BYTES:
                raise ReadError(f"larger than {MAX_BYTES} bytes", path=name)
            if stat.S_ISREG(about.st_mode):
                return file.readall()
            parts, size = [], 0
            while part := file.read(1 << 20):
                parts.append(part)
                size += len(part)
                if size > MAX_BYTES:
                    raise ReadError(f"larger than {MAX_BYTES} bytes", path=name)
            return b"".join(parts)
    except OSError as error:
        raise ReadError(error.strerror or str(error), path=name) from None


def read_bytes(data: bytes, *, path: str = "") -> Module:
    """Read a program from the bytes of a file; see `read`."""
    if data[:2] == b"\x1f\x8b":
        data = _unpack(data, path)
    text = None if b"\0" in data[:4096] or path.removesuffix(".gz").endswith(".pb") else _decode(data)
    if text is None:
        from hlodiff.hlo import native_process

        try:
            return without_config(read_hlo(native_process.call("proto", data, path), path=path))
        except ReadError as error:
            if path.removesuffix(".gz").endswith(".pb"):
                raise
            what = "neither text nor an HLO proto"
            raise ReadError(what, path=path, hint="expected HLO or MLIR text, or an HloModuleProto") from error
    return read_text(text, path=path)


def text_of(path: str | PathLike[str]) -> str:
    """The text of a program file, unpacked; a proto is printed.

    Args:
        path: as for `read`.

    Returns:
        text that `read_text` reads.

    Raises:
        ReadError: as for `read`.
    """
    name = fspath(path)
    module = read(name)  # also reports what is wrong with the file
    data = content_of(name)
    text = _decode(_unpack(data, name) if data[:2] == b"\x1f\x8b" else data)
    if text is not None and "\0" not in text[:4096] and not name.removesuffix(".gz").endswith(".pb"):
        return text
    from hlodiff.hlo.printer import print_hlo

    return print_hlo(module)


def _unpack(data: bytes, path: str) -> bytes:
    """Unpack gzip; a small file cannot expand until memory is full."""
    try:
        reader = zlib.decompressobj(wbits=31)
        unpacked = reader.decompress(data, min(MAX_BYTES, _SMALL + _MOST_PACKED * len(data)))
    except (zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(f"broken gzip: {error}", path=path) from None
    if not reader.eof:
        raise ReadError("gzip is cut off, or unpacks to more than any program of its size", path=path)
    return unpacked


def _decode(data: bytes) -> str | None:
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None


# Prefixes that loggers write before each line: (1) those of absl and glog with the source location, a timestamp, or a
# timestamp alone as CI systems write it.
# Every part is bounded in length: otherwise a line of digits would be split in every possible way.
_TIME = r"(?:[IWEF]\d{4} |\d{4}-\d\d-\d\d[T ])\d\d:\d\d:\d{1,12}+[.,]\d{1,12}+Z?"
_PREFIX = rf"(?:{_TIME}(?::? {{0,20}}[IWEF\d]{{0,20}}? {{0,20}}([\w./-]{{1,200}}:\d{{1,9}})\])? ?)+"
_IN_LOG = re.compile(rf"^{_PREFIX}(?=(?:HloModule|module) )", re.MULTILINE)
_LOGGED = re.compile(_PREFIX)


def _without_prefixes(text: str, first: re.Match[str]) -> str:
    """The program in a log: lines of this logger without their prefix, other lines blank.

    Line numbers stay the same, so that an error reports the line of the log.
    """
    lines = [""] * text.count("\n", 0, first.start())
    end = 0
    for line in text[first.start() :].split("\n"):
        found = _LOGGED.match(line)
        ours = found is not None and found[1] == first[1]
        lines.append(line[found.end() :] if found and ours else "")
        if ours and lines[-1].startswith("}"):
            end = len(lines)
    return "\n".join(lines[: end or None]) + "\n"


def read_text(text: str, *, path: str = "", trusted: bool = False) -> Module:
    """Read a program from text: StableHLO where it looks like MLIR, else compiled HLO; see `read`.

    Args:
        text: the program.
        path: the file as the user named it, for errors.
        trusted: whether this process or one of its workers made the text. Then StableHLO is parsed here; otherwise it
            is parsed in a child process, because a damaged file may crash the parser.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.count("\n") if len(text) > _LARGE else 0
    if lines * _SHORTEST > len(text):
        what = f"{lines:,} lines of fewer than {_SHORTEST} characters on average: no program is written so"
        raise ReadError(what, path=path, hint="most of them are blank: capture or dump the program again")
    if logged := _IN_LOG.search(text):
        text = _without_prefixes(text, logged)
    start = _COMMENT.match(text)
    if path.endswith(".mlir") or _STABLEHLO.match(text, start.end() if start else 0):
        if trusted:
            from hlodiff.hlo.stablehlo_parser import read_stablehlo

            return read_stablehlo(text, path=path)
        from hlodiff.hlo import native_process

        module: Module = native_process.call("stablehlo", text, path)
        return module
    return read_hlo(text, path=path)
