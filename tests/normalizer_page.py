"""docs/normalizer.md, made from the passes themselves: `python -m tests.normalizer_page` writes it."""

from __future__ import annotations

from pathlib import Path

from hlodiff.normalizer import IGNORING, PASSES, Pass

PAGE = Path(__file__).parent.parent / "docs/normalizer.md"
_HEAD = """# Normalizer passes

What is removed from a program before it is stored and compared, in this order.
Everything else counts. This page is made from `hlodiff.normalizer.PASSES` by
`python -m tests.normalizer_page`, and a test keeps it up to date.

A pass that is not part of a diff only makes the stored file easier to read and to compare by eye: `hlodiff diff`
does not depend on names and order, and uses them and the metadata to report where an edit is.

No pass, but no difference to a diff either: the order of the two operands of `add`, `multiply`, `maximum`, `minimum`,
`and`, `or`, `xor` and of a comparison with `EQ` or `NE`. Only the payload of a NaN may depend on it.
"""


def _table(passes: list[Pass]) -> str:
    rows = [f"| `{one.name}` | {one.drops} | {one.hides} | {'yes' if one.affects_diff else 'no'} |" for one in passes]
    return "\n".join(
        [
            "| pass | what it drops | which real change that could hide | part of a diff |",
            "| --- | --- | --- | --- |",
            *rows,
        ]
    )


def page() -> str:
    """The page as it should be."""
    parts = [_HEAD]
    for stage, title in (("stablehlo", "StableHLO"), ("compiled", "Compiled HLO")):
        parts += [f"## {title}\n", _table([one for one in PASSES if stage in one.stages]) + "\n"]
    parts += ['## With `large_constants = "ignore"`\n', _table(list(IGNORING.values())) + "\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
