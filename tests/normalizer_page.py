"""docs/normalizer.md, made from the rules themselves: `python -m tests.normalizer_page` writes it."""

from __future__ import annotations

from pathlib import Path

from hlodiff.normalize import IGNORING, RULES, Rule

PAGE = Path(__file__).parent.parent / "docs/normalizer.md"
_HEAD = """# Normalizer rules

What is taken off a program before it is stored and compared, in the order in which it is done.
Everything else counts. This page is made from `hlodiff.normalize.RULES` by
`python -m tests.normalizer_page`, and a test holds it to them.
"""


def _table(rules: list[Rule]) -> str:
    rows = [f"| `{rule.name}` | {rule.drops} | {rule.hides} |" for rule in rules]
    return "\n".join(["| rule | what it drops | which real change that could hide |", "| --- | --- | --- |", *rows])


def page() -> str:
    """The page as it should be."""
    parts = [_HEAD]
    for stage, title in (("stablehlo", "StableHLO"), ("compiled", "Compiled HLO")):
        parts += [f"## {title}\n", _table([rule for rule in RULES if stage in rule.stages]) + "\n"]
    parts += ['## With `large_constants = "ignore"`\n', _table(list(IGNORING.values())) + "\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
