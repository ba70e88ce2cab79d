"""The StableHLO rules: what each takes away, and what must hold for all together."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.differ import longest_common_subsequence
from hlodiff.hlo import Module, mlir, print_stablehlo, read_stablehlo
from hlodiff.normalizer import PASSES, Pass, normalize, to_text
from hlodiff.snapshots import attach_source, numbered, restored, source_of
from tests.stablehlo_fixture import lower_programs
from tests.stablehlo_fixture import programs as programs

FIXTURES = Path(__file__).with_name("fixtures") / "normalize"
STABLEHLO_PASSES = [one for one in PASSES if "stablehlo" in one.stages]


def normalized(module: Module) -> Module:
    for rule in STABLEHLO_PASSES:
        module, _ = rule.apply(module)
    return module


def text_of(raw: str) -> str:
    return print_stablehlo(normalized(read_stablehlo(raw)))


@pytest.mark.parametrize("rule", STABLEHLO_PASSES, ids=lambda rule: rule.name)
def test_before_and_after(rule: Pass) -> None:
    before = read_stablehlo((FIXTURES / rule.name / "before.mlir").read_text(encoding="utf-8"))
    after = (FIXTURES / rule.name / "after.mlir").read_text(encoding="utf-8")
    module, count = rule.apply(before)
    assert print_stablehlo(module) == after
    assert count > 0
    assert rule.apply(module) == (module, 0)


def test_every_rule_says_what_it_drops_and_hides() -> None:
    names = [rule.name for rule in STABLEHLO_PASSES]
    assert len(set(names)) == len(names)
    assert all(r.drops.endswith(".") and r.hides.endswith(".") for r in STABLEHLO_PASSES)


def test_normalized_twice_is_normalized_once(programs: Path) -> None:
    for path in sorted(programs.glob("*.mlir")):
        once = text_of(path.read_text(encoding="utf-8"))
        module = read_stablehlo(once)
        counts = [rule.name for rule in STABLEHLO_PASSES if rule.apply(module)[1]]
        assert (text_of(once), counts) == (once, []), path.name


def test_what_is_stored_reads_back_equal_names_included(programs: Path) -> None:
    """source.json finds instructions by name, so the names in the file must be those in memory."""
    for path in sorted(programs.glob("*.mlir")):
        module = normalized(read_stablehlo(path.read_text(encoding="utf-8")))
        assert _without_lines(read_stablehlo(print_stablehlo(module))) == _without_lines(module), path.name


@pytest.mark.slow
def test_the_same_bytes_from_another_process(programs: Path, tmp_path: Path) -> None:
    """Another hash seed, path and order of tracing, shifted lines, a renamed kernel and a renamed helper."""
    source = (programs_script := Path(__file__).with_name("stablehlo_programs.py")).read_text(encoding="utf-8")
    moved = tmp_path / "elsewhere" / programs_script.name
    moved.parent.mkdir()
    changed = "\n" * 40 + re.sub(r"\b(sine_kernel|on_host|printed)\b", r"renamed_\1", source)
    moved.write_text(changed, encoding="utf-8")
    other = lower_programs(tmp_path / "programs", "--reverse", script=moved, seed="7")
    names = sorted(path.name for path in programs.glob("*.mlir"))
    assert names == sorted(path.name for path in other.glob("*.mlir"))
    for name in names:
        ours, theirs = (text_of((folder / name).read_text(encoding="utf-8")) for folder in (programs, other))
        assert ours == theirs, name


LAYERS = """
module {{
  func.func public @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> {{
    {first}
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] \
: (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.tanh %1 : tensor<4x4xf32>
    %3 = stablehlo.multiply %2, %1 : tensor<4x4xf32>
    %4 = stablehlo.dot_general %3, %v, contracting_dims = [1] x [0] \
: (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.tanh %4 : tensor<4x4xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<4x4xf32>
    %7 = stablehlo.add %6, %3 : tensor<4x4xf32>
    {last}
    return %8 : tensor<4x4xf32>
  }}
}}
"""
SINE = "%0 = stablehlo.sine %x : tensor<4x4xf32>"
LAST = "%8 = stablehlo.negate %7 : tensor<4x4xf32>"


@pytest.mark.parametrize(
    ("first", "last", "lines"),
    [
        ("%0 = stablehlo.cosine %x : tensor<4x4xf32>", LAST, 8),  # its line, its user, and what is named after them
        (SINE, "%8 = stablehlo.abs %7 : tensor<4x4xf32>", 4),
        ("%9 = stablehlo.abs %x : tensor<4x4xf32>\n%0 = stablehlo.sine %9 : tensor<4x4xf32>", LAST, 3),
    ],
)
def test_one_edit_changes_a_handful_of_lines(first: str, last: str, lines: int) -> None:
    old = text_of(LAYERS.format(first=SINE, last=LAST)).splitlines()
    new = text_of(LAYERS.format(first=first, last=last)).splitlines()
    changed = len(old) + len(new) - 2 * len(longest_common_subsequence(old, new))
    assert changed == lines, "\n".join([*old, "", *new])


def test_a_changed_shape_or_attribute_renames_nothing() -> None:
    old = LAYERS.format(first=SINE, last=LAST)
    wide, narrow = text_of(old), text_of(old.replace("xf32", "xbf16"))
    assert wide.replace("xf32", "xbf16") == narrow


def test_an_argument_that_moves_is_seen() -> None:
    swapped = LAYERS.format(first=SINE, last=LAST).replace("%w:", "%t:").replace("%v:", "%w:").replace("%t:", "%v:")
    assert text_of(swapped) != text_of(LAYERS.format(first=SINE, last=LAST))


def test_donation_is_kept_as_it_is_spelled() -> None:
    text = "func.func public @main(%a: tensor<f32> {{{}}}) -> tensor<f32> {{ return %a : tensor<f32> }}"
    aliased, donated = (text_of(text.format(s)) for s in ("tf.aliasing_output = 0 : i32", "jax.buffer_donor = true"))
    assert "tf.aliasing_output = 0 : i32" in aliased
    assert "jax.buffer_donor = true" in donated


def table(values: list[str], element_type: str) -> str:
    type_ = f"tensor<{len(values)}x{element_type}>"
    line = f"%c = stablehlo.constant dense<[{', '.join(values)}]> : {type_}"
    return f"func.func @main() -> {type_} {{ {line}\n return %c : {type_} }}"


def hash_constants(module: Module) -> tuple[Module, int]:
    (rule,) = (one for one in STABLEHLO_PASSES if one.name == "large_constants")
    return rule.apply(module)


def test_another_table_is_another_hash_unless_tables_are_ignored() -> None:
    old, new = (read_stablehlo(table([*map(str, range(64)), last], "i32")) for last in ("64", "65"))
    one, two = (print_stablehlo(hash_constants(module)[0]) for module in (old, new))
    assert "dense<0>" in one and "260 bytes" in one
    assert one != two
    assert to_text(normalize(old)) != to_text(normalize(new))
    ignored = to_text(normalize(old, large_constants="ignore"))
    assert ignored == to_text(normalize(new, large_constants="ignore"))
    assert 'hlodiff.constant = "260 bytes"' in ignored
    assert ignored == to_text(normalize(read_stablehlo(to_text(normalize(old))), large_constants="ignore"))


def test_a_table_of_64_elements_stays() -> None:
    module = read_stablehlo(table([str(n) for n in range(64)], "i32"))
    assert hash_constants(module) == (module, 0)
    assert "dense<[0, 1, 2" in to_text(normalize(module, large_constants="ignore"))


@pytest.mark.parametrize(
    ("element_type", "values"),
    [("i1", ["true", "false", "true"]), ("complex<f32>", ["(1.0,2.0)", "(3.0,4.0)", "(5.0,6.0)"]),
     ("bf16", ["1.0", "2.0", "3.0"]), ("f8E4M3FN", ["1.0", "2.0", "3.0"]), ("ui8", ["1", "2", "3"]),
     ("i4", ["1", "2", "3"])],
)  # fmt: skip
def test_a_hashed_constant_of_any_type_is_valid_and_stays(element_type: str, values: list[str]) -> None:
    module, count = hash_constants(read_stablehlo(table(values * 22, element_type)))
    assert count == 1
    again = read_stablehlo(print_stablehlo(module))
    assert _without_lines(again) == _without_lines(module)
    assert hash_constants(again)[1] == 0


def test_a_kernel_that_does_not_decode_says_so() -> None:
    before = (FIXTURES / "embedded_kernels" / "before.mlir").read_text(encoding="utf-8")
    damaged = base64.b64encode(b"not MLIR!" * 100).decode()
    text = to_text(normalize(read_stablehlo(re.sub(r"(body\\22: \\22)[^\\]*", rf"\g<1>{damaged}", before))))
    assert len(re.findall(r"hlodiff:opaque:900:sha256:[0-9a-f]{64}\W", text)) == 3


def test_a_kernel_is_decoded_without_its_paths() -> None:
    before = (FIXTURES / "embedded_kernels" / "before.mlir").read_text(encoding="utf-8")
    texts = [mlir.kernel_text(_body(b)) or "" for b in re.findall(r"body\\22: \\22([^\\]*)", before)]
    assert len(texts) == 3
    assert all("stable_mosaic.math.sin" in text and ".py" not in text for text in texts)


def _body(base64_text: str) -> bytes:
    return base64.b64decode(base64_text)


def _without_lines(module: Module) -> Module:
    computations = (
        replace(c, line=0, instructions=tuple(replace(it, line=0) for it in c.instructions))
        for c in module.computations
    )
    return replace(module, computations=tuple(computations))


def test_provenance_is_found_again_by_name(programs: Path) -> None:
    """What source.json records by computation and instruction name fits the file that is stored beside it."""
    for path in sorted(programs.glob("*.mlir")):
        raw = read_stablehlo(path.read_text(encoding="utf-8"))
        module = restored(normalized(numbered(raw)), raw)
        back = attach_source(read_stablehlo(print_stablehlo(module)), source_of(module, "/"))
        assert list(_provenance(back)) == list(_provenance(module)), path.name


def _provenance(module: Module) -> Iterator[tuple[str, str, tuple[tuple[int, str], ...]]]:
    for computation in module.computations:
        for it in computation.instructions:
            yield it.name, it.op_name, tuple((frame.line, frame.function) for frame in module.stack(it.frame))
