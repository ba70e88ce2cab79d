"""Names of targets, and what this machine can compile for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlodiff.capture import availability, is_target, missing_packages, parse_target, targets
from hlodiff.capture.environment import Setting, flags_that_matter, worker_environment
from hlodiff.config import Config
from hlodiff.errors import CaptureError, UsageError


@pytest.mark.parametrize(
    ("name", "kind", "devices"),
    [
        ("cpu", "cpu", 1),
        ("cpu-8", "cpu", 8),
        ("tpu-v5e-2x2", "tpu", 4),
        ("tpu-v5e-1x1", "tpu", 1),
        ("tpu-v6e-16x16", "tpu", 256),
        ("tpu-v5p-2x2x1", "tpu", 4),
        ("tpu-tpu7x-2x2x1", "tpu", 8),
        ("cuda-h100", "cuda", 1),
        ("cuda-a100-x8", "cuda", 8),
        ("cuda-h100-x16", "cuda", 16),
        ("attached", "attached", 0),
    ],
)
def test_names_that_exist(name: str, kind: str, devices: int) -> None:
    target = parse_target(name)
    assert (target.name, target.kind, target.devices) == (name, kind, devices)


@pytest.mark.parametrize(
    "name",
    [
        *("", "gpu", "cpu-", "cpu-1", "cpu-0", "cpu-999", "CPU", "cpu-4 ", "tpu", "tpu-v5e", "tpu-v5e-2x2x1"),
        *("tpu-v4-2x2", "tpu-v5e-3x3", "tpu-v5e-32x32", "tpu-v3-2x2", "tpu-v5e-2x", "cuda", "cuda-h100-x1"),
        *("cuda-h100-", "cuda-h100-4", "cuda-h100-x9", "cuda-rtx", "attached-2"),
    ],
)
def test_names_that_do_not_exist(name: str) -> None:
    assert not is_target(name)
    with pytest.raises(UsageError, match=r"there is no target `(.|\n)*`hlodiff list --targets` lists them"):
        parse_target(name)


@pytest.mark.parametrize(
    ("typed", "meant"), [("tpu-v5-2x2", "tpu-v5e-2x2"), ("cuda-h10", "cuda-h100"), ("attach", "attached")]
)
def test_a_mistyped_target_is_suggested(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean `{meant}`"):
        parse_target(typed)


def test_this_machine_compiles_for_its_cpu_and_tells_about_the_rest(tmp_path: Path) -> None:
    found = {status.name: status for status in targets(Config(tmp_path, targets=("cpu-4",)))}
    *known, last = found
    assert last == "cpu-4"
    assert [parse_target(name).name for name in known] == known
    assert {parse_target(name).kind for name in known} == {"cpu", "tpu", "cuda", "attached"}
    assert found["cpu"].available and found["cpu"].reason.startswith("jaxlib ")
    for status in found.values():
        assert status.available or status.reason
    for name in known:
        lacking = missing_packages(parse_target(name))
        assert lacking is None or (found[name].reason, found[name].install) == lacking


def test_a_made_up_target_in_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no target `tpu-v9`"):
        targets(Config(tmp_path, targets=("tpu-v9",)))


VERSIONS = {"jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": "0.0.42", "nvidia-cuda-nvcc-cu12": "12.9"}
PLUGIN = {"jax-cuda12-plugin": "0.10.2", "jax-cuda12-pjrt": "0.10.2"}


def pretend(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], *, ptxas: bool = True) -> None:
    monkeypatch.setattr(availability, "installed_version", versions.get)
    monkeypatch.setattr(availability, "ptxas_folder", lambda: Path("/nvcc/bin") if ptxas else None)
    monkeypatch.setattr("shutil.which", lambda name: None)


@pytest.mark.parametrize(
    ("target", "versions", "ptxas", "reason", "install"),
    [
        ("tpu-v5e-2x2", {"libtpu": ""}, True, "libtpu is not installed", 'pip install "jax[tpu]==0.10.2"'),
        (
            *("cuda-h100", {}, True, "JAX's CUDA plugin is not installed"),
            "pip install jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2 nvidia-cuda-nvcc-cu12",
        ),
        (
            *("cuda-h100", PLUGIN | {"jax-cuda12-pjrt": "0.9.2"}, True),
            *("jax-cuda12-pjrt 0.9.2 does not fit jaxlib 0.10.2", "pip install jax-cuda12-pjrt==0.10.2"),
        ),
        (
            *("cuda-h100", PLUGIN, False, "no ptxas, which XLA needs to compile for NVIDIA GPUs"),
            "pip install nvidia-cuda-nvcc-cu12",
        ),
    ],
)
def test_what_is_missing_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, target: str, versions: dict[str, str], ptxas: bool, reason: str, install: str
) -> None:
    pretend(monkeypatch, VERSIONS | versions, ptxas=ptxas)
    assert missing_packages(parse_target(target)) == (reason, install)


def test_nothing_is_missing_where_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, VERSIONS | PLUGIN)
    assert [missing_packages(parse_target(name)) for name in ("cpu", "tpu-v5e-2x2", "cuda-h100")] == [None] * 3


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ({}, "JAX is not installed"),
        (
            {"jax": "0.7.0", "jaxlib": "0.7.0"},
            "JAX 0.7.0 is too old to capture with: 0.7.1 is needed\nhint: pip install 'jax>=0.7.1'",
        ),
        ({"jax": "0.10.2"}, "jaxlib is not installed beside JAX 0.10.2"),
    ],
)
def test_a_jax_that_cannot_be_used_gets_a_sentence(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], says: str
) -> None:
    pretend(monkeypatch, versions)
    with pytest.raises(CaptureError, match=says):
        availability.check_jax()


def test_every_supported_jax_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("0.7.1", "0.7.2", "0.8.0", "0.9.1", "0.10.2", "0.11.0.dev20260101", "1.0"):
        pretend(monkeypatch, {"jax": version, "jaxlib": version})
        availability.check_jax()
    requirements = Path(__file__).parent.parent.joinpath("pyproject.toml").read_text()
    oldest = availability.OLDEST_JAX
    assert f'"jax>={oldest}"' in requirements and f'"jaxlib>={oldest}"' in requirements


def test_flags_that_change_no_program_are_not_recorded() -> None:
    flags = "--xla_gpu_b=1 --xla_dump_to=/x --xla_force_host_platform_device_count=4 --xla_a=1 --xla_gpu_b=2"
    assert flags_that_matter(flags) == ["--xla_a=1", "--xla_gpu_b=2"]


def test_the_configuration_wins_over_the_environment() -> None:
    outside = {"XLA_FLAGS": "--xla_a=1 --xla_force_host_platform_device_count=4", "JAX_DISABLE_JIT": "1", "HOME": "/h"}
    config = Config(Path(), xla_flags=("--xla_a=2",), x64=True, env=(("EQX_ON_ERROR", "nan"),))
    env = worker_environment(config, Setting(attached=False, cpu_devices=8), outside)
    assert env["XLA_FLAGS"] == "--xla_a=1 --xla_a=2"
    assert (env["JAX_PLATFORMS"], env["JAX_NUM_CPU_DEVICES"], env["JAX_ENABLE_X64"]) == ("cpu", "8", "true")
    assert (env["EQX_ON_ERROR"], env["HOME"]) == ("nan", "/h")
    assert "JAX_DISABLE_JIT" not in env
