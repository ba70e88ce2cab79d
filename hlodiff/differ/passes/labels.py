"""What instructions are without their neighbours, counted over a program.

Programs that are equal have equal counts, so that most pairs of texts are told apart without being parsed. Neighbouring
texts of a compile share most of their lines: what a line says is worked out once for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hlodiff.differ.prepare import without_channels
from hlodiff.hlo.files import read_text
from hlodiff.hlo.fingerprint import shape_text
from hlodiff.hlo.grammar import LineParts, called_names, opcode_of, parts_of_lines, with_references, without_metadata
from hlodiff.hlo.model import Instruction, Module
from hlodiff.hlo.parser import read_hlo, spans_of
from hlodiff.hlo.traversal import callees, preorder
from hlodiff.normalizer.fusion_parameters import fusion_parameters
from hlodiff.normalizer.passes import PASSES

Label = tuple[object, ...]
_Line = tuple[str, str, str]
"""Shape and opcode, literal, and attributes as printed."""

# Names in attributes are those of computations or of instructions; here each is defined as both.
_SCAFFOLD = """HloModule m

%c {{
  ROOT %p = f32[] parameter(0)
}}

ENTRY %e {{
  %c = f32[] parameter(0)
{lines}
  ROOT %root = f32[] negate(%c)
}}
"""


def clean(module: Module) -> Module:
    """A program without the noise that the differ ignores, tuning and channel numbers."""
    for rule in PASSES:
        if module.stage in rule.stages and rule.affects_diff:
            if rule.name == "fusion_parameters":
                module, _ = fusion_parameters(module, frozenset(), see_callers=False)
            else:
                module, _ = rule.apply(module)
    return without_channels(module)


def label_of(it: Instruction, with_layout: bool) -> Label:
    """What an instruction is, without its neighbours."""
    attributes = tuple(sorted((name, value) for name, value in it.attributes if name != "backend_config"))
    return it.opcode, shape_text(it.shape, with_layout), it.literal, attributes, with_layout


def attribute_counts(counts: Counter[Label]) -> Counter[Label]:
    """How often each attribute of an opcode has each value, from counts of labels, which may be below zero.

    Example:
        >>> attribute_counts(Counter({("reverse", "f32[2]", None, (("dimensions", "{0}"),), False): -1}))
        Counter({('reverse', 'dimensions', '{0}'): -1})
    """
    found: Counter[Label] = Counter()
    for (opcode, _, _, attributes, with_layout), times in counts.items():
        if times and not with_layout and isinstance(attributes, tuple):
            for name, value in attributes:
                found[opcode, name, value] += times
    return found


class LabelCounter:
    """Counts labels, with and without layouts, of one program after another; parameters are left out.

    Example:
        >>> text = "HloModule m\\n\\nENTRY %e {\\n  %p = f32[2]{0} parameter(0)\\n  ROOT %r = f32[2]{0} sine(%p)\\n}\\n"
        >>> [label[:2] for label in LabelCounter().count(text)]
        [('sine', 'f32[2]'), ('sine', 'f32[2]{0}')]
    """

    def __init__(self) -> None:
        self._attributes: dict[str, str] = {}
        self._labels: dict[_Line, tuple[Label, ...]] = {}

    def count(self, text: str) -> Counter[Label]:
        """How often each label occurs in what the entry of a program reaches.

        Raises:
            ReadError: the text cannot be read.
        """
        lines = self._lines(text)
        return _of_instructions(clean(read_text(text))) if lines is None else self._of_lines(lines)

    def _lines(self, text: str) -> Counter[_Line] | None:
        """How often each line occurs; None where the text is not in canonical form."""
        spans = spans_of(text)
        parts = {span.name: parts_of_lines(text, span) for span in spans or ()}
        if not spans or not all(parts.values()):
            return None
        callees = {name: [callee for callee in _callees(lines) if callee in parts] for name, lines in parts.items()}
        reached = preorder([span.name for span in spans if span.is_entry], callees.__getitem__)
        found: Counter[_Line] = Counter()
        for name in reached:
            found.update((shape, "" if given[:1] == "%" else given, tail) for _, shape, given, tail in parts[name])
        merged: Counter[_Line] = Counter()
        for (shape, literal, tail), times in found.items():
            merged[shape, literal, self._plain(tail)] += times
        return merged

    def _plain(self, attributes: str) -> str:
        """Attributes without what differs from line to line: metadata and names."""
        found = self._attributes.get(attributes)
        if found is None:
            found = self._attributes[attributes] = with_references(without_metadata(attributes), lambda _: "%c")
        return found

    def _of_lines(self, lines: Counter[_Line]) -> Counter[Label]:
        self._work([line for line in lines if line not in self._labels and opcode_of(line[0]) != "parameter"])
        counts: Counter[Label] = Counter()
        for line, times in lines.items():
            for label in self._labels.get(line, ()):
                counts[label] += times
        return counts

    def _work(self, lines: list[_Line]) -> None:
        printed = "\n".join(f"  %{n} = {shape}({literal}){tail}" for n, (shape, literal, tail) in enumerate(lines))
        module = clean(read_hlo(_SCAFFOLD.format(lines=printed), check_calls=False))
        for it in module.entry_computation.instructions[1:-1]:
            self._labels[lines[int(it.name)]] = label_of(it, False), label_of(it, True)


def _callees(lines: Iterable[LineParts]) -> list[str]:
    """What is named in attributes: computations, and instructions that run before."""
    return [name for tail in {line[3] for line in lines} if "%" in tail for name in called_names(tail)]


def _of_instructions(module: Module) -> Counter[Label]:
    counts: Counter[Label] = Counter()
    for index in preorder([module.entry], lambda index: callees(module.computations[index])):
        for it in module.computations[index].instructions:
            if it.opcode != "parameter":
                counts[label_of(it, False)] += 1
                counts[label_of(it, True)] += 1
    return counts
