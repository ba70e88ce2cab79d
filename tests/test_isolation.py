"""Registered functions that end the process, or try to, when they are asked for their cases: each is named alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hlodiff.capture import CapturedProgram, CaptureFailure, DiscoveredFunction, capture, discover, worker_reuse
from hlodiff.errors import RegistryError
from tests.captured_programs import HEAD, Project
from tests.captured_programs import project as project
from tests.test_capture import alive

pytestmark = pytest.mark.slow

COUNTED = (
    HEAD
    + """\
import ctypes, enum, sys, time
open("imported", "a").write(".")
class Mute(Exception): __str__ = __repr__ = lambda self: 1 / 0
class Stubborn(Exception): __str__ = lambda self: sys.exit("no words")
class Name(str, enum.Enum): A = "a"
def deeper(): deeper()
def nested():
    x = None
    for _ in range(1_000_000): x = [x]
    return x
"""
)
MUTE = COUNTED.split("\n").index("class Mute(Exception): __str__ = __repr__ = lambda self: 1 / 0") + 1
FIRST = COUNTED.count("\n") + 1  # the line of the first function


def module(bodies: dict[str, str]) -> str:
    """Functions of one line each, between two that are as they should be."""
    bodies = {
        "before": "return hlodiff.Case(jnp.sin, VECTOR)",
        **bodies,
        "after": "return hlodiff.Case(jnp.cos, VECTOR)",
    }
    return "".join(f"@hlodiff.register\ndef {name}():\n    {body}\n" for name, body in bodies.items())


def line(bodies: dict[str, str], name: str) -> int:
    """The line of the body of a function."""
    return FIRST + 3 * (1 + list(bodies).index(name)) + 2


def imports(folder: Path) -> int:
    """How many processes have imported the module."""
    return len((folder / "imported").read_text())


def healthy(functions: tuple[DiscoveredFunction, ...], broken: set[str]) -> None:
    """Every function that is not broken is listed with its case."""
    assert {found.name for found in functions if found.problem} == broken
    assert [(found.programs, found.cases) for found in functions if found.name not in broken] == [
        ((("cpu", ("",)),), ("",))
    ] * (len(functions) - len(broken))


RAISES = {
    "leaves": ("sys.exit(0)", "SystemExit: 0"),
    "tells": ("sys.exit('no dataset')", "SystemExit: no dataset"),
    "stops": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "closes": ("raise GeneratorExit('so')", "GeneratorExit: so"),
    "mute": ("raise Mute", "Mute: its message cannot be shown, __str__ raises ZeroDivisionError"),
    "stubborn": ("raise Stubborn", "Stubborn: its message cannot be shown, __str__ raises SystemExit"),
    "shows": ("return hlodiff.Case(Mute())", "ZeroDivisionError: division by zero"),
    "odd": (r"raise ValueError('\udcff \x00')", "ValueError: \udcff \x00"),
}


def test_what_a_function_raises_ends_no_process(project: Project, tmp_path: Path) -> None:
    bodies = {name: body for name, (body, _) in RAISES.items()} | {"deep": "deeper()"}
    config = project(module(bodies), head=COUNTED)
    with worker_reuse():
        discovery = discover(config)
        found = {outcome.function: outcome for outcome in capture(config, discovery.requests())}
    functions = discovery.functions
    healthy(functions, set(bodies))
    problems = {one.name: one.problem for one in functions}
    for name, (_, says) in RAISES.items():
        place = MUTE if name == "shows" else line(bodies, name)
        outcome = found[name]
        assert isinstance(outcome, CaptureFailure)
        assert problems[name] == outcome.what == f"programs.py:{place}: {says}"
    assert "RecursionError: maximum recursion depth exceeded" in problems["deep"]
    assert isinstance(found["before"], CapturedProgram) and isinstance(found["after"], CapturedProgram)
    assert imports(tmp_path) == 1


def test_what_is_raised_while_a_function_is_traced(project: Project) -> None:
    head = COUNTED + "class Own(hlodiff.HlodiffError): __init__ = lambda self: setattr(self, 'lock', sys.stdin)\n"
    head += "def fail(error): raise error\n"
    raised = {"mute": "Mute()", "stubborn": "Stubborn()", "leaves": "SystemExit(3)", "own": "Own()"}
    bodies = {name: f"return hlodiff.Case(lambda x: fail({what}), VECTOR)" for name, what in raised.items()}
    config = project(module(bodies), head=head)
    with worker_reuse():
        found = {outcome.function: outcome for outcome in capture(config, discover(config).requests())}
    at = f"programs.py:{head.count(chr(10))}: "
    assert {name: one.what for name, one in found.items() if isinstance(one, CaptureFailure)} == {
        "mute": at + "Mute: its message cannot be shown, __str__ raises ZeroDivisionError",
        "stubborn": at + "Stubborn: its message cannot be shown, __str__ raises SystemExit",
        "leaves": at + "SystemExit: 3",
        "own": at + "Own: its message cannot be shown, __str__ raises AttributeError",
    }


ENDS = {
    "leaves": ("print('about to leave'); os._exit(3)", "the worker left with exit code 3"),
    "aborts": ("os.abort()", "the worker was ended by SIGABRT"),
    "crashes": ("ctypes.string_at(0)", "the worker was ended by SIGSEGV"),
    "overflows": ("sys.setrecursionlimit(1 << 30); repr(nested())", "the worker was ended by SIGSEGV"),
    "leaves_a_process": ("os.system('sleep 600 &'); os._exit(3)", "the worker left with exit code 3"),
    "leaves_a_copy": ("os.fork() or time.sleep(600); os._exit(3)", "the worker left with exit code 3"),
    "closes_all": ("os.closerange(3, 4096); return hlodiff.Case(jnp.sin, VECTOR)", "the worker left with exit code 1"),
}
CRASHES = ("aborts", "crashes", "overflows")  # they tell where


def test_a_function_that_ends_the_process_is_named_and_the_next_is_asked(project: Project, tmp_path: Path) -> None:
    bodies = {name: body for name, (body, _) in ENDS.items()}
    config = project(module(bodies), head=COUNTED)
    with worker_reuse():
        discovery = discover(config)
        assert imports(tmp_path) == 1 + len(ENDS)
        found = {outcome.function: outcome for outcome in capture(config, discovery.requests())}
    healthy(discovery.functions, set(ENDS))
    problems = {one.name: one.problem for one in discovery.functions}
    for name, (_, says) in ENDS.items():
        at = line(bodies, name)
        expected = (
            f"programs.py:{at}: {says}"
            if name in CRASHES
            else f"{says} (`{name}` is registered at programs.py:{at - 2})"
        )
        outcome = found[name]
        assert isinstance(outcome, CaptureFailure)
        assert (problems[name], outcome.what) == (expected, expected)
        assert "site-packages" not in outcome.log_tail and "Extension modules" not in outcome.log_tail
    assert isinstance(found["leaves"], CaptureFailure) and found["leaves"].log_tail == "about to leave"
    assert isinstance(found["before"], CapturedProgram) and isinstance(found["after"], CapturedProgram)


def test_an_answer_that_cannot_be_read_is_of_one_function(project: Project) -> None:
    config = project(module({"named": "return {Name.A: hlodiff.Case(jnp.sin, VECTOR)}"}), head=COUNTED)
    functions = discover(config).functions
    healthy(functions, {"named"})
    assert functions[1].problem.startswith("the answer of the worker cannot be read: ModuleNotFoundError")


def test_what_a_function_does_to_its_process_reaches_no_other(project: Project, tmp_path: Path) -> None:
    case = "return hlodiff.Case(jnp.sin, VECTOR)"
    bodies = {
        "forks": f"os.fork(); {case}",
        "floods": f"[os.write(n, b'\\x80\\x00{{garbage' * 100_000) for n in (1, 2)]; {case}",
        "shuts": f"os.close(1); os.close(2); {case}",
        "speaks": f"print('here', flush=True); print('there', file=sys.stderr, flush=True); {case}",
        "shuts_stdout": f"sys.stdout.close(); sys.stderr = None; {case}",
        "speaks_again": f"print('here', flush=True); print('there', file=sys.stderr, flush=True); {case}",
    }
    config = project(module(bodies), head=COUNTED)
    with worker_reuse():
        discovery = discover(config)
        healthy(discovery.functions, set())
        outcomes = list(capture(config, discovery.requests()))
    assert all(isinstance(outcome, CapturedProgram) for outcome in outcomes), outcomes
    assert imports(tmp_path) == 1


def test_what_a_function_changes_is_put_back_before_the_next(project: Project, tmp_path: Path) -> None:
    """Also when all are captured, in whatever order."""
    case = "return hlodiff.Case(jnp.sin, VECTOR)"
    look = "(os.getcwd(), os.environ.get('X'), jax.config.jax_enable_x64, signal.getsignal(15), os.umask(18),"
    look += (
        " signal.getitimer(signal.ITIMER_REAL), sys.getrecursionlimit(), os.path.samefile('/dev/fd/1', '/dev/null'))"
    )
    bodies = {
        "looks": f"open('seen', 'a').write(repr({look}) + '\\n'); {case}",
        "changes": "os.chdir('/'); os.environ['X'] = '1'; jax.config.update('jax_enable_x64', True);"
        " signal.signal(15, signal.SIG_IGN); os.umask(0o777); sys.setrecursionlimit(5000); signal.alarm(600);"
        f" os.dup2(os.open('/dev/null', 1), 1); sys.stdout = None; {case}",
        "looks_again": f"print('here'); open('seen', 'a').write(repr({look}) + '\\n'); {case}",
    }
    config = project(module(bodies), head=COUNTED + "import signal\n")
    with worker_reuse():
        discovery = discover(config)
        healthy(discovery.functions, set())
        assert all(isinstance(one, CapturedProgram) for one in capture(config, discovery.requests(), jobs=1))
    assert len((tmp_path / "seen").read_text().splitlines()) == 4 and imports(tmp_path) == 1
    assert len(set((tmp_path / "seen").read_text().splitlines())) == 1, (tmp_path / "seen").read_text()


# Long enough for what does not hang, on a machine that is busy too.
HANGS_AFTER = 10
SAYS_SO = f"ended after {HANGS_AFTER} s (the limit `timeout`)"
HANGS = {
    "sleeps": ("time.sleep(600)", SAYS_SO),
    "never_gives_the_lock_back": ("import re; re.match('(a+)+$', 'a' * 60 + 'b')", SAYS_SO),
    "will_not_be_ended": ("import signal; signal.signal(6, signal.SIG_IGN); time.sleep(600)", SAYS_SO),
}
EATS = {
    "eats": ("kept = bytearray(b'a') * (1 << 30); time.sleep(600)", "of memory (the limit `memory` is 0.9 GiB)"),
    "is_killed": ("os.kill(os.getpid(), 9)", "ended by SIGKILL, possibly out of memory"),
}
SLEEPS = "return hlodiff.Case(lambda x: time.sleep(600), VECTOR)"


@pytest.mark.parametrize(("uses_too_much", "seconds"), [(HANGS, HANGS_AFTER), (EATS, 300)], ids=["time", "memory"])
def test_time_and_memory_have_limits(
    project: Project, tmp_path: Path, uses_too_much: dict[str, tuple[str, str]], seconds: float
) -> None:
    bodies = {name: body for name, (body, _) in uses_too_much.items()}
    traced = {"sleeps_when_traced": SLEEPS} if uses_too_much is HANGS else {}
    config = replace(project(module({**bodies, **traced}), head=COUNTED), timeout=seconds, memory=0.9 * 2**30)
    with worker_reuse():
        discovery = discover(config)
        assert imports(tmp_path) == 1 + len(bodies)
        found = {outcome.function: outcome for outcome in capture(config, discovery.requests(), jobs=2)}
        assert imports(tmp_path) <= 3 + len(bodies), "what has ended a worker once is not asked again"
    healthy(discovery.functions, set(bodies))
    problems = {one.name: one.problem for one in discovery.functions}
    for name, (_, says) in uses_too_much.items():
        outcome = found[name]
        assert isinstance(outcome, CaptureFailure) and outcome.what == problems[name]
        assert says in problems[name] and "programs.py:" in problems[name]
    for name in traced:
        outcome = found[name]
        assert isinstance(outcome, CaptureFailure)
        assert outcome.what == f"programs.py:{line({**bodies, **traced}, name)}: the worker was {SAYS_SO}"
    assert isinstance(found["before"], CapturedProgram) and isinstance(found["after"], CapturedProgram)


def test_what_a_function_starts_counts_and_ends_with_it(project: Project, tmp_path: Path) -> None:
    eats = "a = bytearray([1]) * (600 << 20); import time; time.sleep(600)"
    has_others_eat = (
        f"import subprocess; kept = [subprocess.Popen([sys.executable, '-c', '{eats}'], start_new_session=True)"
        " for _ in 'ab']; open('eaters', 'w').write(' '.join(str(one.pid) for one in kept)); time.sleep(600)"
    )
    (discovered,) = [
        one
        for one in discover(
            replace(project(module({"others": has_others_eat}), head=COUNTED), timeout=300, memory=0.9 * 2**30)
        ).functions
        if one.problem
    ]
    assert "ended when it and the 2 processes below it held" in discovered.problem
    assert "(`others` is registered at" in discovered.problem or "programs.py:" in discovered.problem
    eaters = [int(eater) for eater in (tmp_path / "eaters").read_text().split()]
    end = time.monotonic() + 60  # a killed process gives its memory back before it is gone
    while any(map(alive, eaters)) and time.monotonic() < end:
        time.sleep(0.05)
    assert len(eaters) == 2 and not any(map(alive, eaters))


def test_a_module_that_hangs_is_named(project: Project) -> None:
    config = replace(project("time.sleep(600)\n", head=COUNTED), timeout=4.0)
    with pytest.raises(RegistryError, match=r"cannot be imported: the worker was ended after 4 s") as raised:
        discover(config)
    assert raised.value.where == f"programs.py:{FIRST}"


LEAVES = """
def leave():
    while not os.path.exists("asked"):
        time.sleep(0.01)
    os._exit(9)
"""


def test_a_thread_that_ends_the_worker_later_is_named(
    project: Project, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """The function that is asked then is asked again, and captured."""
    case = "return hlodiff.Case(jnp.sin, VECTOR)"
    start = "import threading; threading.Thread"
    bodies = {
        "leaves_one": f"{start}(target=leave).start(); {case}",
        "is_innocent": f"again = os.path.exists('asked'); open('asked', 'w'); again or time.sleep(600); {case}",
        "leaves_another": f"{start}(target=time.sleep, args=(600,)).start(); {case}",
    }
    with worker_reuse():
        discovery = discover(project(module(bodies), head=COUNTED + LEAVES))
    healthy(discovery.functions, set())
    assert [record.getMessage() for record in caplog.records] == [
        "warning: the worker left with exit code 9 during `is_innocent`, which is tried again:"
        " `leaves_one` left the thread Thread-2 (leave) running"
    ]


def test_a_worker_dies_with_its_parent_while_the_lock_is_held(project: Project, tmp_path: Path) -> None:
    project(
        module({"stuck": "import re; open('pid', 'w').write(str(os.getpid())); re.match('(a+)+$', 'a' * 60 + 'b')"}),
        head=COUNTED,
    )
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    with subprocess.Popen([sys.executable, "-m", "hlodiff", "list"], cwd=tmp_path) as process:
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
        worker = Path("/proc", (tmp_path / "pid").read_text())
        assert worker.exists()
        process.kill()
    until(lambda: not worker.exists() or "State:\tZ" in (worker / "status").read_text())


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds, and fail where it never does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


EIGHT = {
    "one": "sys.exit('no dataset')",
    "two": "os._exit(3)",
    "three": "return hlodiff.Case(jnp.tan, VECTOR)",
    "four": "ctypes.string_at(0)",
    "five": "raise KeyboardInterrupt",
    "six": "raise Mute",
}
NOTES = """\
note: the cases of `one` cannot be listed: programs.py:{one}: SystemExit: no dataset
note: the cases of `two` cannot be listed: the worker left with exit code 3 (`two` is registered at programs.py:{two})
note: the cases of `four` cannot be listed: programs.py:{four}: the worker was ended by SIGSEGV
note: the cases of `five` cannot be listed: programs.py:{five}: KeyboardInterrupt
note: the cases of `six` cannot be listed: programs.py:{six}: Mute: its message cannot be shown,\
 __str__ raises ZeroDivisionError
"""


def hlodiff(folder: Path, *arguments: str, says: str = "") -> tuple[int, str]:
    command = [sys.executable, "-m", "hlodiff", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.stderr.rstrip() == says
    return done.returncode, done.stdout


def test_list_check_and_update_do_the_others(project: Project, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    project(module(dict.fromkeys(EIGHT, EIGHT["three"])), head=COUNTED)
    code, out = hlodiff(tmp_path, "update")
    assert (code, out.split("\n")[-2]) == (0, "8 new; next: git add snapshots")
    project(module(EIGHT), head=COUNTED)

    places = {name: line(EIGHT, name) - 2 * (name == "two") for name in EIGHT}
    code, out = hlodiff(tmp_path, "list")
    assert code == 0 and NOTES.format(**places) in out
    assert out.endswith("8 functions, 8 recorded; next: hlodiff check\n")

    code, out = hlodiff(tmp_path, "check")
    assert (code, out.count("could not be judged: ")) == (2, 5)
    assert out.endswith(
        "5 could not be judged, unchanged: before, three, after; next, once it is repaired: hlodiff check one\n"
    )
    code, out = hlodiff(
        tmp_path, "inspect", "growth", "two", "after", says=NOTES.split("\n")[1].removeprefix("note: ").format(**places)
    )
    assert (code, out) == (2, "")
    code, out = hlodiff(tmp_path, "check", "after")
    assert (code, out.split("\n")[-2]) == (0, "1 unchanged")

    text = (tmp_path / "programs.py").read_text()
    (tmp_path / "programs.py").write_text(text.replace("jnp.cos", "jnp.exp"))
    code, out = hlodiff(tmp_path, "update")
    assert code == 2 and out.startswith("after  cpu   changed\n")
    assert out.endswith("1 changed, 2 unchanged, 5 failed; next, once it is repaired: hlodiff update\n")
    assert "exponential" in (tmp_path / "snapshots" / "after" / "cpu" / "stablehlo.mlir").read_text()


VARIANTS = """\
import os, sys, hlodiff, jax, jax.numpy as jnp
CASE = hlodiff.Case(jax.jit(jnp.sin), hlodiff.abstract((8,), "float32"))
@hlodiff.variants
def gone(): os._exit(3)
@hlodiff.variants
def left(): sys.exit("no dataset")
@hlodiff.variants
def good(): return {"jitted": CASE}
"""


def test_jit_report_runs_the_others(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hlodiff]\nmodules = ["programs.py"]\n')
    (tmp_path / "programs.py").write_text(VARIANTS)
    code, out = hlodiff(tmp_path, "inspect", "variants", "--format", "json")
    found = {
        one["name"]: [(each["name"], each["problem"]) for each in one["variants"]]
        for one in json.loads(out)["comparisons"]
    }
    assert code == 2
    assert found == {
        "gone": [("gone", "the worker left with exit code 3")],
        "left": [("left", "programs.py:6: SystemExit: no dataset")],
        "good": [("jitted", "")],
    }
