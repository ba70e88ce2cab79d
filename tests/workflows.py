"""Runs GitHub workflows here: their `run:` steps with bash as they stand, those actions that are known by moving files.

It is no emulator: an expression, action or key that it does not know is an error, so that nothing passes unseen.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
EMBEDDED = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<name>[A-Za-z_][\w.-]*)|(?P<sign>&&|\|\||==|!=|!|\(|\)))")
_STEP_KEYS = {"name", "id", "if", "shell", "env", "run", "uses", "with", "working-directory"}


def read(path: Path) -> dict[str, Any]:
    """A workflow or action; `on` is true in the YAML that Python reads."""
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(table, dict), path
    return {"on" if key is True else str(key): value for key, value in table.items()}


class Expression:
    """One expression of GitHub's: names, texts, `!`, `==`, `!=`, `&&`, `||`, parentheses and the status functions."""

    def __init__(self, text: str, names: Mapping[str, Any], failed: bool) -> None:
        self.tokens: list[tuple[str, str]] = []
        position, text = 0, text.strip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            assert match and match.lastgroup, f"unknown expression: {text[position:]}"
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            position = match.end()
        self.names, self.failed = names, failed

    def value(self) -> Any:
        found = self._either()
        assert not self.tokens, self.tokens
        return found

    def _next(self, *signs: str) -> str:
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return ""

    def _either(self) -> Any:
        found = self._both()
        while self._next("||"):
            other = self._both()
            found = found or other
        return found

    def _both(self) -> Any:
        found = self._compared()
        while self._next("&&"):
            other = self._compared()
            found = found and other
        return found

    def _compared(self) -> Any:
        found = self._one()
        while sign := self._next("==", "!="):
            found = (_text(found) == _text(self._one())) == (sign == "==")
        return found

    def _one(self) -> Any:
        if self._next("!"):
            return not self._one()
        if self._next("("):
            found = self._either()
            assert self._next(")")
            return found
        kind, text = self.tokens.pop(0)
        if kind == "text":
            return text[1:-1].replace("''", "'")
        if self._next("("):
            assert self._next(")")
            return {"success": not self.failed, "failure": self.failed, "always": True, "cancelled": False}[text]
        found = self.names
        for part in text.split("."):
            found = found.get(part, "") if isinstance(found, Mapping) else ""
        return found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


@dataclass
class Runner:
    """A runner of GitHub's in a folder.

    Args:
        home: where everything lies: workspace, temporary files, artifacts.
        event: what started the workflow.
        event_name: its name.
        source: what a checkout gets.
        env: further variables of all steps, as GitHub's runners have.
        log: what the steps said.
        used: the actions that were used, in order.
        summary: of the job.
    """

    home: Path
    event: Mapping[str, Any]
    event_name: str
    source: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    summary: str = ""

    def __post_init__(self) -> None:
        for name in ("workspace", "temp", "bin", "artifacts", "files"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        (self.home / "files/event.json").write_text(json.dumps(self.event))
        self.program("hlodiff", f'exec "{sys.executable}" -m hlodiff "$@"')
        # pip is not asked for packages: hundreds of megabytes, and the Python that runs the tests has them.
        apart = f'case "$*" in "-m pip install"*) echo "$@"; exit;; "-I -m venv"*) {self.environment()}; exit;; esac'
        self.program("python", f'{apart}\nexec "{sys.executable}" "$@"')

    def environment(self) -> str:
        """A line of shell that stands in for `python -I -m venv ... FOLDER`: pip is not asked for packages there."""
        self.program("of-environment", f'shift\n[ "$2" = pip ] && echo "$@" && exit\nexec "{sys.executable}" "$@"')
        own = self.home / "bin/of-environment"
        return f'for last; do :; done; mkdir -p "$last/bin" && cp "{own}" "$last/bin/python"'

    def program(self, name: str, line: str) -> None:
        """Put a program on the PATH of all steps."""
        path = self.home / "bin" / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    @property
    def output(self) -> str:
        return "\n".join(self.log)

    def play(self, workflow: Path) -> bool:
        """Run the jobs of a workflow; whether all of them passed."""
        table = read(workflow)
        names = self._names(self.event.get("inputs") or {})
        passed = True
        for job in table["jobs"].values():
            if "if" not in job or self._holds(job["if"], names, False):
                passed = self._steps(job["steps"], names["inputs"], {})[0] and passed
        return passed

    def _names(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        github = {
            "event": self.event,
            "event_name": self.event_name,
            "server_url": self.env.get("GITHUB_SERVER_URL", "https://forge.example"),
            "repository": "owner/project",
            "run_id": "123",
            "ref": "refs/heads/main",
            "ref_name": self.env.get("GITHUB_REF_NAME", "main"),
            "sha": "0" * 40,
            "token": self.env.get("TOKEN_OF_JOB", "job-token"),
        }
        return {"github": github, "inputs": inputs, "runner": {"temp": str(self.home / "temp"), "os": "Linux"}}

    def _holds(self, condition: Any, names: Mapping[str, Any], failed: bool) -> bool:
        text = _text(condition)
        match = EMBEDDED.fullmatch(text.strip())
        text = match[1] if match else text
        found = bool(Expression(text, names, failed).value())
        return found and (not failed or any(f"{word}()" in text for word in ("always", "failure", "cancelled")))

    def _filled(self, value: Any, names: Mapping[str, Any]) -> str:
        return EMBEDDED.sub(lambda m: _text(Expression(m[1], names, False).value()), _text(value))

    def _steps(
        self, steps: list[dict[str, Any]], inputs: Mapping[str, Any], env: Mapping[str, str]
    ) -> tuple[bool, Any]:
        """Run steps one after the other: whether they passed, and their outputs."""
        outputs: dict[str, Any] = {}
        failed = False
        for step in steps:
            assert set(step) <= _STEP_KEYS, step
            names = {**self._names(inputs), "steps": outputs, "env": env}
            if not self._holds(step.get("if", "success()"), names, failed):
                continue
            own = {**env, **{key: self._filled(value, names) for key, value in step.get("env", {}).items()}}
            given = {key: self._filled(value, names) for key, value in step.get("with", {}).items()}
            if "uses" in step:
                passed, found = self._use(step["uses"], given)
            else:
                folder = self.home / "workspace" / self._filled(step.get("working-directory", "."), names)
                passed, found = self._run(step["run"], folder, own)
            outputs[step.get("id", "")] = {"outputs": found}
            failed = failed or not passed
        return not failed, outputs

    def _run(self, script: str, folder: Path, env: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
        assert "${{" not in script
        files = {name: self.home / "files" / name for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.write_text("")
        base = {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "PYTHONPATH": str(ROOT),
        }
        base |= {"PATH": f"{self.home / 'bin'}:/usr/bin:/bin", "RUNNER_TEMP": str(self.home / "temp")}
        base |= {"GITHUB_EVENT_PATH": str(self.home / "files/event.json"), "GITHUB_RUN_ID": "123"}
        base |= {"GITHUB_REPOSITORY": "owner/project", "GITHUB_ACTION_PATH": str(ROOT), "COLUMNS": "110"}
        base |= {name: str(path) for name, path in files.items()} | {
            k: v for k, v in self.env.items() if k != "TOKEN_OF_JOB"
        }
        (self.home / "files/script.sh").write_text(script)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(self.home / "files/script.sh")]
        done = subprocess.run(
            command, cwd=folder, env={**base, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=300, check=False,
        )  # fmt: skip
        self.log.append(done.stdout)
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        pairs = (line.partition("=") for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        return done.returncode == 0, {name: value for name, _, value in pairs}

    def _use(self, action: str, given: dict[str, str]) -> tuple[bool, dict[str, str]]:
        self.used.append(action)
        name, _, version = action.partition("@")
        if name == "actions/checkout":
            assert (version, given) == ("v4", {"persist-credentials": "false"}) and self.source
            workspace = self.home / "workspace"
            shutil.rmtree(workspace)
            subprocess.run(["git", "clone", "-q", "--depth=1", self.source.as_uri(), str(workspace)], check=True)
            return True, {}
        if name == "actions/setup-python":
            assert set(given) <= {"python-version", "cache"}
            if "cache" in given:  # it looks for one of these, and fails where there is none
                found = [
                    *self.home.glob("workspace/**/requirements.txt"),
                    *self.home.glob("workspace/**/pyproject.toml"),
                ]
                return bool(found), {}
            return True, {}
        if name == "actions/upload-artifact":
            return self._upload(given), {}
        if name == "github/codeql-action/upload-sarif":
            return Path(given["sarif_file"]).is_file(), {}
        if name in ("actions/cache/restore", "actions/cache/save"):
            assert version == "v4"
            self._cache(name, given)
            return True, {}
        assert name.endswith("/hlodiff"), action
        return self._composite(read(ROOT / "action.yml"), given)

    def _cache(self, name: str, given: dict[str, str]) -> None:
        """GitHub's cache of one branch: a key is written once, and a missing one read by the start of another."""
        caches, path = self.home / "caches", Path(given["path"])
        own = caches / given["key"]
        if name.endswith("save"):
            if path.is_dir() and not own.exists():
                shutil.copytree(path, own)
            return
        found = sorted(caches.glob(f"{given['restore-keys']}*"))
        if own.exists() or found:
            shutil.copytree(own if own.exists() else found[-1], path, dirs_exist_ok=True)

    def _upload(self, given: dict[str, str]) -> bool:
        """Everything but hidden files unless they are asked for, as that action does."""
        source = Path(given["path"])
        target = self.home / "artifacts" / given["name"]
        shutil.rmtree(target, ignore_errors=True)
        files = [path for path in source.rglob("*") if path.is_file()]
        if given.get("include-hidden-files") != "true":
            files = [path for path in files if not any(part.startswith(".") for part in path.relative_to(source).parts)]
        for path in files:
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        return bool(files) or given.get("if-no-files-found", "warn") != "error"

    def _composite(self, action: dict[str, Any], given: dict[str, str]) -> tuple[bool, dict[str, str]]:
        assert set(given) <= set(action["inputs"]), "an input that the action does not have"
        names = self._names({})
        defaults = {name: self._filled(one.get("default", ""), names) for name, one in action["inputs"].items()}
        for step in action["runs"]["steps"]:
            assert "uses" in step or step["shell"] == "bash", "GitHub wants a shell in each step of an action"
        passed, outputs = self._steps(action["runs"]["steps"], defaults | given, {})
        names["steps"] = outputs
        return passed, {name: self._filled(one["value"], names) for name, one in action["outputs"].items()}
