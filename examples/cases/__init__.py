"""Regressions that people reported, as functions to compile with both versions: `python -m examples.cases scatter`."""
