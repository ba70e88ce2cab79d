"""A stand-in for the APIs of GitHub and GitLab: a local server that keeps comments and records every question."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

COMMIT = "a" * 40
TOKEN = "the-token"
BOT = "github-actions[bot]"


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """The files as a zip file, names as they are."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def pull(number: int, commit: str = COMMIT, head: str = "guest/project", base: str = "owner/project") -> dict[str, Any]:
    """A pull request as GitHub tells it."""
    return {
        "number": number,
        "head": {"sha": commit, "repo": {"full_name": head}},
        "base": {"repo": {"full_name": base}},
    }


@dataclass
class CodeHost:
    """What the server knows and what it was asked.

    `comments` are those of every request: id, body, and whose. `archive` is the artifact, `said_size` what the list
    says of its size; `fail` answers a path with a status.
    """

    pulls: list[dict[str, Any]] = field(default_factory=lambda: [pull(7)])
    comments: list[dict[str, Any]] = field(default_factory=list)
    archive: bytes | None = None
    said_size: int = 1000
    fail: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    tokens: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""
    storage: str = ""

    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.comments]

    def writes(self) -> list[str]:
        """Questions that change something."""
        return [line for line in self.asked if not line.startswith("GET")]

    def comment(self, body: str, login: str = BOT, ident: int = 99) -> dict[str, Any]:
        one = {"id": 500 + len(self.comments), "body": body, "user": {"login": login}, "author": {"id": ident}}
        self.comments.append(one)
        return one

    def answer(self, method: str, path: str, query: Mapping[str, list[str]], body: Any) -> Any:
        for part, status in self.fail.items():
            if part in path:
                return status
        if path.endswith("/artifacts"):
            listed = {"id": 3, "name": "hlodiff", "size_in_bytes": self.said_size, "expired": False}
            return {"artifacts": [listed] if self.archive is not None else []}
        if path.endswith("/pulls"):
            return self.pulls
        if path == "/user":
            return {"id": 99}
        if path.endswith(("/comments", "/notes")) and method == "GET":
            start = 100 * (int(query["page"][0]) - 1)
            return self.comments[start : start + 100]
        if path.endswith(("/comments", "/notes")):
            return self.comment(body["body"])
        ident = int(path.rpartition("/")[2])
        next(one for one in self.comments if one["id"] == ident)["body"] = body["body"]
        return {}


def _handler(code_host: CodeHost, storage: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            split = urlsplit(self.path)
            length = int(self.headers["Content-Length"] or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            token = self.headers["Authorization"] or self.headers["PRIVATE-TOKEN"] or ""
            code_host.tokens.append(("storage" if storage else "api", token))
            code_host.asked.append(f"{self.command} {self.path}")
            if storage:
                self._send(200, code_host.archive or b"")
            elif split.path.endswith("/zip"):
                self.send_response(302)
                self.send_header("Location", f"{code_host.storage}/signed")
                self.end_headers()
            else:
                answer = code_host.answer(self.command, split.path, parse_qs(split.query), body)
                status = answer if isinstance(answer, int) else 200
                self._send(status, json.dumps(answer).encode())

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_PUT = _serve

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    return Handler


@contextmanager
def served(code_host: CodeHost) -> Iterator[CodeHost]:
    """The code host at an address of its own, and the store of its artifacts at another one."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(code_host, storage)) for storage in (False, True)]
    code_host.address, code_host.storage = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    threads = [threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield code_host
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def workflow_run(**changed: Any) -> dict[str, Any]:
    """The event by which GitHub tells that the measuring workflow of a fork's pull request has ended."""
    run = {
        "id": 123,
        "event": "pull_request",
        "conclusion": "failure",
        "head_sha": COMMIT,
        "head_branch": "a branch&state=closed",
        "head_repository": {"full_name": "guest/project"},
        "pull_requests": [],
    }
    return {"action": "completed", "workflow_run": run | changed, "repository": {"full_name": "owner/project"}}
