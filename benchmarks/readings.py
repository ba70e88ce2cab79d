"""Reports of one-line edits beside what is true of them: 164 edits of 15 training steps, solvers and decoders.

Each was written and its truth noted before anybody read a report. The programs are snapshots that JAX 0.10.2 gave for
three targets. `readings.md` has truth and report of each; whoever changes what a report says reads what it changes.

python -m benchmarks.readings             print the reports that differ from readings.md, and their truth
python -m benchmarks.readings --record    write them to readings.md
python -m benchmarks.readings --only lab  only edits whose name contains this
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ARCHIVE = Path(__file__).with_name("readings.tar.xz")
PAGE = Path(__file__).with_name("readings.md")
_EDIT = re.compile(r"^## (\S+)\n\n(.*?)\n\n```text\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class Reading:
    """One edit.

    Args:
        name: the project and the edit, as `lab/l_gelu`.
        truth: what an expert would say of it, and what must not be said.
        report: what `hlodiff diff HEAD .` prints.
    """

    name: str
    truth: str
    report: str

    def __str__(self) -> str:
        return f"## {self.name}\n\n{self.truth}\n\n```text\n{self.report}\n```"


def readings(page: str) -> dict[str, Reading]:
    """The edits of a page by name.

    Example:
        >>> readings("## a/b\\n\\nnothing changes\\n\\n```text\\n1 unchanged\\n```")["a/b"].truth
        'nothing changes'
    """
    return {name: Reading(name, truth, report) for name, truth, report in _EDIT.findall(page)}


def report_of(unpacked: Path, name: str) -> str:
    """What a reviewer is shown of an edit: the project as committed before it, and the work tree after it."""
    project, edit = name.split("/")
    with TemporaryDirectory() as folder:
        top = Path(folder, project)
        shutil.copytree(unpacked / project / "before", top)
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "before"]):
            _git(top, *command)
        # With the time of the copy: git takes a file of the same size, time and second as before for the same file.
        shutil.copytree(unpacked / project / "after" / edit, top, copy_function=shutil.copy, dirs_exist_ok=True)
        shown = subprocess.run(
            [sys.executable, "-m", "hlodiff", "diff", "HEAD", "."],
            cwd=top,
            env={**os.environ, "COLUMNS": str(_COLUMNS), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if shown.returncode not in (0, 1):
        raise RuntimeError(f"{name}: hlodiff diff ended with {shown.returncode}: {shown.stderr.strip()[-500:]}")
    return "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())


def _git(top: Path, *arguments: str) -> None:
    author = {f"GIT_{who}_{what}": "readings" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=top, env={**os.environ, **author}, check=True, capture_output=True)


def read_again(known: Mapping[str, Reading]) -> Iterator[Reading]:
    """The same edits, in order, with what is printed now."""
    with TemporaryDirectory() as folder:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder, filter="data")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            reports = pool.map(lambda name: report_of(Path(folder), name), known)
            for (name, reading), report in zip(known.items(), reports, strict=True):
                yield Reading(name, reading.truth, report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read all edits again; return 1 if a report differs from the page and was not recorded."""
    raw = argparse.RawDescriptionHelpFormatter  # the commands stay a line each
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readings", description=__doc__, formatter_class=raw)
    parser.add_argument("--record", action="store_true", help="write the reports to readings.md")
    parser.add_argument("--only", default="", help="edits whose names contain this")
    options = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    known = readings(page)
    changed = 0
    for now in read_again({name: it for name, it in known.items() if options.only in name}):
        if now != known[now.name]:
            changed += 1
            page = page.replace(str(known[now.name]), str(now))
            print(f"{now}\n", flush=True)
    if options.record:
        PAGE.write_text(page, encoding="utf-8")
    print(f"{changed} reports differ from {PAGE.name}" if not options.record else f"{changed} reports written")
    return int(bool(changed) and not options.record)


if __name__ == "__main__":
    sys.exit(main())
