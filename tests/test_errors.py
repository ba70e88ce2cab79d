"""Errors that users meet: what `str` has, what `render` adds, and that both survive a worker process."""

from __future__ import annotations

import pickle
import traceback

import pytest

from hlodiff.errors import HlodiffError, ReadError, StoreError

ERRORS = (
    HlodiffError("no such thing", where="here", hint="look there"),
    HlodiffError("no such thing"),
    StoreError("hint: is its name", hint="rename it"),
    ReadError("unexpected `)`", path="a.hlo", line=2, column=3, text="a )", hint="write it again"),
)


@pytest.mark.parametrize("error", ERRORS)
def test_only_the_rendered_text_has_the_hint(error: HlodiffError) -> None:
    hint = f"\nhint: {error.hint}" if error.hint else ""
    assert error.render() == f"{error}{hint}"
    assert not error.hint or error.hint not in str(error)


def test_a_read_error_shows_the_line_before_the_hint() -> None:
    assert ERRORS[-1].render() == "a.hlo:2:3: unexpected `)`\n  a )\n    ^\nhint: write it again"


@pytest.mark.parametrize("error", ERRORS)
def test_a_traceback_shows_the_hint_once_after_pickling_too(error: HlodiffError) -> None:
    again = pickle.loads(pickle.dumps(error))
    for one in (error, again):
        name = f"{type(error).__module__}.{type(error).__qualname__}"
        assert "".join(traceback.format_exception_only(one)) == f"{name}: {error.render()}\n"
