"""Pass dumps of XLA: which file of a folder is which stage of which module.

With `--xla_dump_to=DIR --xla_dump_hlo_pass_re=.* --xla_dump_hlo_as_text` XLA writes one text at the start of each
pipeline and one after each pass that changed the module:

    module_0000.jit_f.0014.HLO_passes_after_layout_assignment.after_fusion.before_fusion-wrapper.txt

TPU compilers put `cl_<number>` before the counter. Some passes write texts of their own while they run
(`copy-insertion.after_adding_special-case_copies.txt`); they are left out where there is a text after the pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from hlodiff.errors import ReadError

_SUFFIX = r"\.(?:txt|hlo|hlo\.pb|pb)(?:\.gz)?"
_MODULE = re.compile(r"(?:(?P<stamp>\d+)\.)?module_(?P<number>\d+)\.(?P<rest>.+)", re.DOTALL)
_COUNTED = re.compile(
    r"(?P<module>.+?)(?:\.cl_\d+)?\.(?P<count>\d{4,9})\.(?P<pipeline>.+?)"
    rf"\.(?P<what>(?:after|before)_.+){_SUFFIX}"
)
_WHOLE = re.compile(
    r"(?P<module>.+?)(?:\.cl_\d+)?\.(?P<what>before_optimizations|(?:[\w.-]+_)?after_optimizations|after_codegen)"
    rf"{_SUFFIX}"
)
_START, _END = "pipeline-start", "pipeline-end"
# A dump of one compile has tens of files for each module; the largest seen was 400.
MOST_STAGES = 5_000
_LAST = 10**9


@dataclass(frozen=True, slots=True, order=True)
class ModuleKey:
    """Which module of a folder: numbers repeat between the backends of one process, and names between compiles.

    Args:
        folder: below the one that was read; "" for itself.
        stamp: the time in the file's name, where XLA was asked for it.
        number: XLA's own.
        name: the module's, `jit_step`.
    """

    folder: str
    stamp: str
    number: int
    name: str

    @property
    def label(self) -> str:
        """What it is called: `module_0001.jit_step`."""
        stamp = f"{self.stamp}." if self.stamp else ""
        return "/".join(filter(None, (self.folder, f"{stamp}module_{self.number:04d}.{self.name}")))


@dataclass(frozen=True, slots=True)
class PassName:
    """Which pass of XLA a text follows.

    Args:
        pipeline: the pipeline that ran it, as the file calls it; "" before the first one and after the last.
        name: the pass; "" where the text does not follow a pass: at the start of a pipeline, or at the very end.
        step: what a pass calls a text that it writes while it runs; "" for the text after it. Without pass and
            pipeline what XLA calls a text of the whole: `after_optimizations`.

    Example:
        >>> PassName("HLO passes", "copy-insertion", "after_adding_special-case_copies").label
        'copy-insertion: after adding special-case copies'
    """

    pipeline: str
    name: str
    step: str = ""

    @property
    def label(self) -> str:
        """What a line of a report calls it; for a text that follows no pass, what comes next."""
        if self.name:
            return f"{self.name}: {self.step.replace('_', ' ')}" if self.step else self.name
        return f"no pass named, before {self.pipeline}" if self.pipeline else f"no pass named, {self.step}"


@dataclass(frozen=True, slots=True)
class Stage:
    """One text of one module.

    Args:
        file: its name below the folder.
        count: XLA's number of it; -1 for the text before all passes, above all others for the texts after all.
        follows: the pass that it follows.
        before: the pass that would run next; "" where the file does not say.
    """

    file: str
    count: int
    follows: PassName
    before: str = ""

    @property
    def number(self) -> int | None:
        """XLA's number in the file's name; None for the texts before and after all passes."""
        return self.count if 0 <= self.count < _LAST else None


@dataclass(frozen=True, slots=True)
class Dump:
    """All texts of one module, in the order in which XLA wrote them.

    Args:
        key: which module.
        stages: its texts that are compared.
        texts: how many there are.
        read: gives the bytes of a file.
        where: what messages call the folder.
    """

    key: ModuleKey
    stages: tuple[Stage, ...]
    texts: int
    read: Callable[[str], bytes] = field(repr=False, compare=False)
    where: str = ""

    @property
    def last(self) -> int:
        """The highest number of XLA's own, for "pass 14 of 21"; 0 where no text has one."""
        return max((stage.number for stage in self.stages if stage.number is not None), default=0)

    @property
    def is_whole(self) -> bool:
        """Whether the module went through all passes: a text before them, and at least one after a pass."""
        return len(self.stages) > 1 and self.stages[0].count < 0

    def path(self, stage: Stage) -> str:
        """What messages call a file."""
        return f"{self.where}/{stage.file}" if self.where else stage.file


def dumps_of(files: Iterable[str], read: Callable[[str], bytes], where: str = "") -> tuple[Dump, ...]:
    """The modules of a folder whose passes were dumped.

    Args:
        files: names of all files, relative, with `/`.
        read: gives the bytes of one.
        where: what messages call the folder.

    Returns:
        one dump for each module with at least one numbered text, in XLA's order.

    Raises:
        ReadError: a module has more texts than any compile writes.

    Example:
        >>> names = [f"module_0001.jit_f.000{n}.p.after_{q}.before_r.txt" for n, q in enumerate("ab")]
        >>> [(dump.key.name, len(dump.stages)) for dump in dumps_of(names, lambda name: b"")]
        [('jit_f', 2)]
    """
    found: dict[ModuleKey, list[_DumpedFile]] = {}
    for file in files:
        parsed = _parsed(file)
        if parsed:
            found.setdefault(parsed[0], []).append(parsed[1])
    dumps = []
    for key, listed in sorted(found.items()):
        if len(listed) > MOST_STAGES:
            what = f"{len(listed):,} texts of one module: no compile writes so many"
            raise ReadError(what, path=f"{where}/{key.label}", hint="give the folder of one compile")
        if any(0 <= one.count < _LAST for one in listed):
            stages = _stages(sorted(listed, key=lambda one: (one.count, one.file)))
            dumps.append(Dump(key, tuple(stages), len(listed), read, where))
    return tuple(dumps)


def is_pass_dump(files: Iterable[str]) -> bool:
    """Whether a folder holds texts of single passes.

    Example:
        >>> is_pass_dump(["module_0000.jit_f.before_optimizations.txt"])
        False
    """
    return any(parsed[1].number is not None for parsed in map(_parsed, files) if parsed)


@dataclass(frozen=True, slots=True)
class _DumpedFile:
    """The parts of a file's name: its number, and what stands around `after_` and `before_`."""

    file: str
    count: int
    pipeline: str = ""
    after: str = ""
    before: str = ""
    whole: str = ""

    @property
    def number(self) -> int | None:
        return self.count if 0 <= self.count < _LAST else None

    @property
    def is_step(self) -> bool:
        """Written by a pass while it runs: named by what was done or comes next in it, not by two passes."""
        return self.number is not None and not (self.after and self.before)


def _parsed(file: str) -> tuple[ModuleKey, _DumpedFile] | None:
    folder, _, name = file.rpartition("/")
    head = _MODULE.fullmatch(name)
    if head is None:
        return None

    def key(module: str) -> ModuleKey:
        return ModuleKey(folder, head["stamp"] or "", int(head["number"][:18]), module)

    if counted := _COUNTED.fullmatch(head["rest"]):
        after, before = _around(counted["what"])
        return key(counted["module"]), _DumpedFile(file, int(counted["count"]), counted["pipeline"], after, before)
    if whole := _WHOLE.fullmatch(head["rest"]):
        # What is compared with `as_text()`: on TPU the text after code generation, elsewhere that after optimizations.
        order = {"before_optimizations": -1, "after_codegen": _LAST + 1}
        return key(whole["module"]), _DumpedFile(file, order.get(whole["what"], _LAST), whole=whole["what"])
    return None


def _around(what: str) -> tuple[str, str]:
    """The passes after and before which a text was written."""
    if what.startswith("before_"):
        return "", what.removeprefix("before_")
    after, _, before = what.removeprefix("after_").partition(".before_")
    return after, before


def _stages(files: Sequence[_DumpedFile]) -> list[Stage]:
    found: list[Stage] = []
    pipeline = ""
    for n, one in enumerate(files):
        if one.number is None:
            found.append(Stage(one.file, one.count, PassName("", "", one.whole)))
        elif one.is_step:
            # The text after the pass says what became of it: a copy that one step adds, another one removes again.
            if not _is_reported(files[n:], one.pipeline, pipeline):
                step = f"after_{one.after}" if one.after else f"before_{one.before}"
                found.append(Stage(one.file, one.count, PassName(pipeline, one.pipeline, step), one.before))
        else:
            outer = _around_start(files, n) if one.after == _START else ("", "")
            pipeline = one.pipeline
            name = PassName(pipeline, "" if one.after == _START else one.after)
            if outer[1]:
                name = PassName(*outer, f"before pipeline {pipeline}")
            found.append(Stage(one.file, one.count, name, "" if one.before == _END else one.before))
    return found


def _around_start(files: Sequence[_DumpedFile], n: int) -> tuple[str, str]:
    """The pipeline and the pass that run while another pipeline starts; ("", "") where that is not known.

    The partitioner cleans up with a pipeline of its own before it is done. What it did until then stands in the text at
    the start of that pipeline, and its name in the next text of the pipeline that runs it.
    """
    inner = files[n].pipeline
    outer = next((one.pipeline for one in reversed(files[:n]) if one.number is not None and not one.is_step), "")
    if not outer or outer == inner:
        return "", ""
    for one in files[n + 1 :]:
        if one.pipeline == outer and not one.is_step:
            return ("", "") if one.after in (_START, inner) else (outer, one.after)
    return "", ""


def _is_reported(files: Sequence[_DumpedFile], own: str, pipeline: str) -> bool:
    """Whether the pass that wrote a text while it ran has a text after it: the next text that is no such step."""
    done = next((one for one in files if not one.is_step), None)
    if done is None or done.number is None or done.after == _START:
        return False
    return done.after == own or done.pipeline == pipeline


def without_repeats(dump: Dump) -> Dump:
    """The same dump, each file read once."""
    known: dict[str, bytes] = {}

    def read(file: str) -> bytes:
        if file not in known:
            known[file] = dump.read(file)
        return known[file]

    return replace(dump, read=read)
