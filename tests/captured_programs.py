"""Projects of one file whose functions are captured in worker processes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from hlodiff.capture import Outcome, Request, capture, discover, missing_packages, parse_target, worker_reuse
from hlodiff.config import Config

THREE = ("cpu", "tpu-v5e-2x2", "cuda-h100-x4")
ABSENT = [name for name in THREE if missing_packages(parse_target(name))]
HEAD = """\
import os, jax, jax.numpy as jnp, hlodiff
from jax.sharding import NamedSharding, PartitionSpec as P
VECTOR = hlodiff.abstract((8,), "float32")
"""

Project = Callable[..., Config]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    def make(body: str, **settings: Any) -> Config:
        (tmp_path / "programs.py").write_text(settings.pop("head", HEAD) + textwrap.dedent(body))
        return Config(tmp_path, modules=("programs.py",), jobs=settings.pop("jobs", 1), **settings)

    return make


def outcomes(config: Config, requests: list[Request] | None = None) -> dict[tuple[str, str, str], Outcome]:
    with worker_reuse():
        wanted = discover(config).requests() if requests is None else requests
        return {(o.function, o.case, o.target): o for o in cast(Iterator[Outcome], capture(config, wanted))}


def only(config: Config, requests: list[Request] | None = None) -> Outcome:
    (outcome,) = outcomes(config, requests).values()
    return outcome
