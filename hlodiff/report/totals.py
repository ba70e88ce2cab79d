"""The last line of every report: `3 changed, 1 new, 2 not checked, 44 unchanged`, and what to type next."""

from __future__ import annotations

from hlodiff.report.numbers import many
from hlodiff.report.record import Report

_WORDS = {
    "check": {"changed": "changed", "added": "new", "removed": "orphaned"},
    "diff": {"changed": "changed", "added": "added", "removed": "removed"},
}


def totals_in_words(report: Report) -> str:
    """The totals and the next command.

    Example:
        >>> totals_in_words(Report("diff", "a", "b", ()))
        'nothing to compare'
    """
    counts = report.totals()
    if not counts["programs"]:
        words = "nothing to compare"
    else:
        parts = [f"{counts[key]:,} {word}" for key, word in _WORDS[report.command].items() if counts[key]]
        broken = sum(program.broken for program in report.programs)
        parts += [f"{broken:,} could not be judged"] if broken else []
        waiting = counts["not_checked"] - broken
        parts += [f"{waiting:,} not checked"] if waiting else []
        parts += [f"{counts['identical']:,} unchanged"] if counts["identical"] or not parts else []
        words = ", ".join(parts)
    return f"{words}; next: {report.next}" if report.next else words


def checked_in_words(report: Report) -> str:
    """How much was compared: `72 programs of 12 functions on cpu, tpu-v5e-2x2`."""
    compared = [program for program in report.programs if program.status != "not_checked"]
    functions = dict.fromkeys(program.name.partition("/")[0] for program in compared)
    on = f" on {', '.join(report.targets())}" if report.targets() else ""
    return f"{many(len(compared), 'program')} of {many(len(functions), 'function')}{on}"
