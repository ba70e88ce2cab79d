"""@hlodiff.register: what it takes, and what a mistake looks like."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from hlodiff import registry
from hlodiff.errors import RegistryError
from hlodiff.registry import Case, folder_name_problem, register, registrations


@pytest.fixture(autouse=True)
def _empty_registry() -> Iterator[None]:
    before = list(registry._REGISTERED)
    registry.clear()
    yield
    registry._REGISTERED[:] = before


def test_with_and_without_arguments() -> None:
    @register
    def first() -> Case:
        return Case(abs, 1)

    @register(name="renamed", targets=["cpu", "cpu", "tpu-v5e-2x2"])
    def second(target: object) -> Case:
        return Case(abs, 2)

    one, two = registrations()
    assert (one.name, one.targets, one.takes_target) == ("first", None, False)
    assert (two.name, two.targets, two.takes_target) == ("renamed", ("cpu", "tpu-v5e-2x2"), True)
    assert one.file == __file__ and one.line < two.line
    assert first().args == (1,)  # the decorated function stays what it was


def test_registering_calls_nothing() -> None:
    @register
    def lazy() -> Case:
        raise AssertionError("called")

    assert [found.name for found in registrations()] == ["lazy"]


def test_two_functions_of_one_name_are_both_named() -> None:
    def make(value: int) -> None:
        if value:

            @register(name="same")
            def one() -> None: ...
        else:

            @register(name="same")
            def two() -> None: ...

    make(0)
    make(1)
    with pytest.raises(RegistryError, match=r"`same` \(.*test_registry.py:\d+\) and `same` \(.*\) have the same name"):
        registrations()


def test_names_that_a_case_insensitive_disk_would_merge() -> None:
    @register(name="Step")
    def one() -> None: ...

    @register(name="step")
    def two() -> None: ...

    with pytest.raises(RegistryError, match="differ only in upper and lower case"):
        registrations()


def test_a_module_that_is_imported_again_replaces_its_own() -> None:
    def load() -> None:
        @register
        def again() -> None: ...

    load()
    load()
    assert [found.name for found in registrations()] == ["again"]


@pytest.mark.parametrize(
    "name",
    ["", "a/b", "a\\b", "..", ".hidden", "-flag", "a b", "é", "con", "NUL.txt", "com1", "end.", "x" * 101, "a\n"],
)
def test_names_that_are_no_safe_folders(name: str) -> None:
    assert folder_name_problem(name)
    with pytest.raises(RegistryError, match=r"test_registry.py:\d+: .* cannot be the name of a function"):

        @register(name=name)
        def function() -> None: ...


@pytest.mark.parametrize("name", ["step", "train_step", "Model.forward", "layer-24", "_private", "console", "x" * 100])
def test_names_that_are_safe_folders(name: str) -> None:
    assert folder_name_problem(name) == ""


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(RegistryError, match=r"'<lambda>' cannot be the name(.|\n)*register\(name="):
        register(lambda: None)


def test_parameters_that_nothing_can_give() -> None:
    with pytest.raises(RegistryError, match="`step` needs the parameters x, y"):

        @register
        def step(x: int, y: int) -> None: ...


@pytest.mark.parametrize("targets", ["cpu", [], [3]])
def test_targets_are_a_list_of_names(targets: list[str]) -> None:
    with pytest.raises(RegistryError, match="`targets` of `function` must be a list of names"):

        @register(targets=targets)
        def function() -> None: ...


def test_only_functions_are_registered() -> None:
    with pytest.raises(RegistryError, match="decorates a function, not 3"):
        register(3)  # type: ignore[call-overload]


def test_a_case_keeps_what_it_is_given() -> None:
    case = Case(pow, 2, 3, kwargs={"mod": 5}, donate="all", static_argnums=1, static_argnames="mod", name="small")
    assert (case.args, case.kwargs, case.donate) == ((2, 3), {"mod": 5}, "all")
    assert (case.static_argnums, case.static_argnames, case.name) == ((1,), ("mod",), "small")


def test_importing_it_imports_no_jax() -> None:
    code = "import sys, hlodiff.registry; from hlodiff import Case, register; print('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
