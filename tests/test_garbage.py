"""Collections of cycles are on again after a program was read or compared, whatever came of it."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest

from hlodiff import diff, read_text
from hlodiff.errors import HlodiffError

TEXT = "HloModule m\n\nENTRY e {\n  p = f32[2]{0} parameter(0)\n  ROOT r = f32[2]{0} sine(p)\n}\n"


def test_collections_are_on_again_after_work_and_after_an_error() -> None:
    old, new = read_text(TEXT), read_text(TEXT.replace("sine", "cosine"))
    assert not diff(old, new).identical and gc.isenabled()
    with pytest.raises(HlodiffError):
        diff(old, replace(new, stage="stablehlo"))
    assert gc.isenabled()
    with pytest.raises(HlodiffError):
        read_text("HloModule m\n\nENTRY e {\n  ROOT r = f32[2]{0} sine(nothing)\n}\n")
    assert gc.isenabled()


def test_who_turned_collections_off_finds_them_off() -> None:
    gc.disable()
    try:
        assert diff(read_text(TEXT), read_text(TEXT.replace("sine", "cosine"))).edits
        assert not gc.isenabled()
    finally:
        gc.enable()
