"""What a pending program or record was captured from, so that one that is out of date is not accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class CaptureOrigin:
    """What a capture depends on.

    Args:
        files: the project's files that were imported, relative to its folder with `/`, each with a hash of its content.
        settings: keys of the configuration that decide what is captured, each with a hash of its value.
        packages: installed packages with their versions: what the programs were compiled with.

    Example:
        >>> CaptureOrigin({"model.py": "5f0c"}).packages
        {}
    """

    files: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


# The most entries of each: all are held against what is here, which takes a millisecond for a package.
_PARTS = {"files": 50_000, "settings": 1_000, "packages": 1_000}


def to_plain(origin: CaptureOrigin) -> dict[str, dict[str, str]]:
    """The origin as JSON takes it."""
    return {name: dict(sorted(table.items())) for name, table in asdict(origin).items()}


def from_plain(value: object) -> CaptureOrigin:
    """The origin in an untrusted JSON value.

    Raises:
        ValueError: it is none.

    Example:
        >>> from_plain({"files": {}, "settings": {"x64": "00ff"}, "packages": {}}).settings
        {'x64': '00ff'}
    """
    if not isinstance(value, dict) or not all(_is_table(value.get(name), most) for name, most in _PARTS.items()):
        raise ValueError("not what a capture depends on")
    return CaptureOrigin(*(value[name] for name in _PARTS))


def _is_table(value: object, most: int) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= most
        and all(isinstance(each, str) for pair in value.items() for each in pair)
    )
