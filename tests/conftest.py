"""What holds for every test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from hlodiff.capture.environment import CUDA, LIBTPU
from hlodiff.cli import run

# Examples in docstrings are of hlodiff's own files. The first runs inside mkdocs, which only `make docs` installs; what
# is in the other would be imported under the names of a user's modules.
collect_ignore = ["site_hooks.py", "fixtures"]

# libtpu is here to compile; without this, a test that touches jax would ask for a TPU that is not there, for minutes.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ |= LIBTPU | CUDA
# Tests play a developer's machine, also where CI runs them; those about CI set it.
os.environ.pop("CI", None)
# On a loaded machine a command may take longer than ten seconds, and then says on stderr what it does.
os.environ["HLODIFF_PROGRESS"] = "0"
# Processes of pytest-xdist are told how wide its terminal is; tests about the width of a terminal set it.
os.environ.pop("COLUMNS", None)
# What an earlier run knows must not spare a test its work; tests about that set it.
os.environ["HLODIFF_CACHE"] = "off"

# What a shell starts in the background ignores Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process: its exit code, what it printed, and what it said on stderr."""

    def ask(*arguments: str) -> tuple[int, str, str]:
        code = run(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return ask


# Slow files that take longest begin first, so that no process is left alone with one of them in the end.
_HEAVIEST = (
    "test_examples", "test_cli_against", "test_cli_growth", "test_pytest_cases", "test_recompiles_page", "test_record",
    "test_profile", "test_parity", "test_cli_capture", "test_cli_upgrade", "test_cli_scenarios", "test_page_browser",
)  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast tests first."""

    def order(item: pytest.Item) -> int:
        if not item.get_closest_marker("slow"):
            return 0
        stem = item.path.stem
        return 1 + (_HEAVIEST.index(stem) if stem in _HEAVIEST else len(_HEAVIEST))

    items.sort(key=order)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """`--dist loadfile` keeps the fast tests of a file in one process, and its slow ones in one."""
    from tests.scheduling import scheduling

    return scheduling(config, log) if config.getoption("dist") == "loadfile" else None
