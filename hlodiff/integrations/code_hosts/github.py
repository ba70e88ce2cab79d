"""GitHub: the event that started a workflow is trusted; everything that a run uploaded is untrusted."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hlodiff.errors import CodeHostError, UsageError
from hlodiff.integrations.code_hosts.http_client import HttpClient
from hlodiff.integrations.code_hosts.post_comment import PostedComment

_REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class TriggerEvent:
    """The run that a `workflow_run` event refers to.

    Args:
        repository: the repository that runs the workflows: `owner/project`.
        run: id of the run.
        head: the repository of the commit; "" if it was deleted. For a pull request from a fork it is the fork.
        branch: branch in that repository.
        commit: hash of the commit.
    """

    repository: str
    run: int
    head: str
    branch: str
    commit: str


def triggered_by(event: Any) -> TriggerEvent:
    """Read a `workflow_run` event.

    Args:
        event: the JSON event that GitHub passes to the workflow.

    Returns:
        the run; none of it is under the control of the run itself.

    Raises:
        UsageError: it is not such an event, or its run was not started by a pull request.
    """
    run = _table(event, "workflow_run")
    if run.get("event") != "pull_request":
        what = f"its run was started by {str(run.get('event'))[:40]!r}, not by a pull request"
        hint = "add to the job: if: github.event.workflow_run.event == 'pull_request'"
        raise UsageError(what, where="the event", hint=hint)
    # The repository of a fork that has been deleted is null.
    head = run.get("head_repository")
    return TriggerEvent(
        _text(_table(event, "repository"), "full_name", _REPOSITORY),
        _count(run, "id"),
        _text(head, "full_name", _REPOSITORY) if isinstance(head, Mapping) else "",
        str(run.get("head_branch") or ""),
        _text(run, "head_sha", COMMIT),
    )


@dataclass(frozen=True, slots=True)
class GitHubRequest:
    """The comments of a pull request.

    Args:
        client: GitHub's API.
        repository: the repository of the pull request.
        number: number of the pull request.
        author: the account that writes our comments; comments of others are never changed.
    """

    client: HttpClient
    repository: str
    number: int
    author: str

    @property
    def name(self) -> str:
        return f"{self.repository}#{self.number}"

    def mine(self) -> list[PostedComment]:
        found = self.client.pages(f"/repos/{self.repository}/issues/{self.number}/comments")
        return [
            PostedComment(_count(one, "id"), str(one.get("body") or ""))
            for one in found
            if isinstance(one, Mapping) and _login(one) == self.author
        ]

    def add(self, body: str) -> None:
        self.client.request("POST", f"/repos/{self.repository}/issues/{self.number}/comments", {"body": body})

    def change(self, id: int, body: str) -> None:
        self.client.request("PATCH", f"/repos/{self.repository}/issues/comments/{id}", {"body": body})


def pull_request_of(client: HttpClient, run: TriggerEvent, claimed: int | None, author: str) -> GitHubRequest | None:
    """The open pull request whose last commit a run was about.

    It is looked up on GitHub by the fields of the event. The number in the artifact only selects among the matches.

    Args:
        client: GitHub's API.
        run: the run in the event.
        claimed: the number in the artifact.
        author: the account that writes our comments.

    Returns:
        its comments; None if it no longer exists: it was closed, or has newer commits.

    Raises:
        CodeHostError: the artifact claims a pull request that the run was not about, or several match and it names
            none.
    """
    if not run.head or not run.branch:
        return None
    owner = run.head.partition("/")[0]
    path = f"/repos/{run.repository}/pulls"
    found = [
        _count(one, "number")
        for one in client.pages(path, {"state": "open", "head": f"{owner}:{run.branch}"})
        if isinstance(one, Mapping) and _is_about(one, run)
    ]
    if claimed is None and len(found) > 1:
        raise CodeHostError(f"fits pull requests {found}, and the artifact names none", where=f"run {run.run}")
    if claimed is not None and found and claimed not in found:
        what = f"the artifact names pull request {claimed}, and the run was about {found[0]}"
        raise CodeHostError(f"{what}: nothing is posted", where=f"run {run.run}")
    return GitHubRequest(client, run.repository, claimed or found[0], author) if found else None


def _is_about(pull: Mapping[str, Any], run: TriggerEvent) -> bool:
    """Whether the head of a pull request is the commit of the run, in the repository of the run."""
    head, base = pull.get("head"), pull.get("base")
    if not isinstance(head, Mapping) or not isinstance(base, Mapping):
        return False
    places = [side.get("repo") for side in (head, base)]
    names = [str(place.get("full_name")) if isinstance(place, Mapping) else "" for place in places]
    return head.get("sha") == run.commit and names == [run.head, run.repository]


def uploaded(client: HttpClient, run: TriggerEvent, name: str) -> UploadedArtifact | None:
    """The artifact that a run uploaded under a name.

    Args:
        client: GitHub's API.
        run: the run in the event.
        name: name of the artifact.

    Returns:
        its content; None if there is no such artifact.

    Raises:
        CodeHostError: it is too large or cannot be read.
    """
    path = f"/repos/{run.repository}/actions"
    answer = client.request("GET", f"{path}/runs/{run.run}/artifacts", None, {"name": name, "per_page": 100})
    listed = answer.get("artifacts") if isinstance(answer, Mapping) else None
    fitting = [
        one for one in listed or [] if isinstance(one, Mapping) and one.get("name") == name and not one.get("expired")
    ]
    if not fitting:
        return None
    newest = max(fitting, key=lambda one: _count(one, "id"))
    where = f"artifact {name} of run {run.run}"
    if _count(newest, "size_in_bytes") > LARGEST:
        raise CodeHostError(f"is larger than {LARGEST // 1024**2} MiB", where=where)
    return read_artifact(client.download(f"{path}/artifacts/{_count(newest, 'id')}/zip", LARGEST), where)


def _login(comment: Mapping[str, Any]) -> str:
    user = comment.get("user")
    return str(user.get("login")) if isinstance(user, Mapping) else ""


def _table(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(found, Mapping):
        raise UsageError(f"has no `{name}`", where="the event", hint="run it in a workflow on `workflow_run`")
    return found


def _text(table: Mapping[str, Any], name: str, form: re.Pattern[str]) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise CodeHostError(f"`{name}` is not what GitHub writes there", where="the event")
    return quote(value, safe="/")


def _count(table: Mapping[str, Any], name: str) -> int:
    value = table.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise CodeHostError(f"`{name}` is not a number", where="GitHub's answer")
    return value


# --- The artifact that a run uploaded: an untrusted zip file, read in memory and never unpacked.

LARGEST = 64 * 1024**2  # bytes, of the zip file and of the result in it; the limit of `hlodiff diff`
RESULT, NUMBER = "hlodiff.json", "pull-request"
_MOST_FILES = 1_000
_NUMBER = re.compile(r"[1-9][0-9]{0,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UploadedArtifact:
    """The data used from an artifact.

    Args:
        result: the text of the result; None if the run left none.
        number: the pull request that it claims to belong to; None if it names none. Verify it before use.
    """

    result: str | None
    number: int | None


def read_artifact(content: bytes, where: str) -> UploadedArtifact:
    """Read the two expected files. No name in the zip file is used as a path, so none can lead anywhere.

    Args:
        content: the zip file.
        where: its name, for errors.

    Returns:
        its content.

    Raises:
        CodeHostError: it is damaged, has too many files or a too large file, or has a name twice.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            members = packed.infolist()
            if len(members) > _MOST_FILES:
                raise CodeHostError(f"holds {len(members):,} files; {_MOST_FILES:,} are the most", where=where)
            result = _member(packed, members, RESULT, LARGEST, where)
            number = _member(packed, members, NUMBER, 64, where)
    except CodeHostError:
        raise
    except Exception as error:  # zipfile has its own errors, and each compression method has others
        raise CodeHostError(f"cannot be read: {error}", where=where) from None
    return UploadedArtifact(result, _number(number, where))


def _member(packed: zipfile.ZipFile, members: list[zipfile.ZipInfo], name: str, limit: int, where: str) -> str | None:
    found = [one for one in members if one.filename == name]
    if len(found) > 1:
        raise CodeHostError(f"names {name} {len(found)} times", where=where)
    if not found:
        return None
    # The size stated in the zip file is untrusted too.
    with packed.open(found[0]) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise CodeHostError(f"{name} is larger than {limit:,} bytes", where=where)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise CodeHostError(f"{name} is not UTF-8 text", where=where) from None


def _number(text: str | None, where: str) -> int | None:
    if text is None or not text.strip():
        return None
    if not _NUMBER.fullmatch(text.strip()):
        raise CodeHostError(f"{NUMBER} holds no number", where=where)
    return int(text)
