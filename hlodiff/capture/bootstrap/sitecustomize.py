"""`hlodiff record` puts this file first on PYTHONPATH, so Python imports it at startup in every process of the run.

It runs the sitecustomize that it shadows, if there is one, and waits for `jax` to be imported. A process that never
imports JAX only pays for this file and is otherwise unchanged: the folder is removed from `sys.path` again.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is imported later, and is slower
_FOLDER, _ROOT, _CALLS = "HLODIFF_RECORD", "HLODIFF_RECORD_ROOT", "HLODIFF_RECORD_CALLS"


class _AfterJax:
    """Finds no modules itself; starts the recorder once `jax` is fully imported."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "jax":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _start()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _start() -> None:
    folder = os.environ[_FOLDER]
    try:
        home = str(Path(_HERE).parent.parent.parent)
        if home not in sys.path:
            sys.path.append(home)  # last, so that it shadows nothing
        from hlodiff.capture.run_recorder import start

        start(folder, os.environ.get(_ROOT, ""), bool(os.environ.get(_CALLS)))
    except Exception as error:  # the run must continue, unrecorded; the parent reports the error
        with open(os.path.join(folder, f"{os.getpid()}.problem"), "a") as file:  # noqa: PTH118, PTH123
            words = "\n".join((str(error), *getattr(error, "__notes__", ())))  # hints are notes
            file.write(f"{type(error).__name__}: {words}\n")


def _run_hidden() -> None:
    """Run the sitecustomize that this one shadows."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get(_FOLDER):
    sys.meta_path.insert(0, _AfterJax())
_run_hidden()
