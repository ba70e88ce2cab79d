"""GitLab: the notes of a merge request, from a job of its pipeline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hlodiff.errors import CodeHostError, UsageError
from hlodiff.integrations.code_hosts.http_client import HttpClient
from hlodiff.integrations.code_hosts.post_comment import PostedComment

_NUMBER = re.compile(r"[1-9][0-9]{0,15}", re.ASCII)
# A line with this prefix is a command, which would run as the owner of the token: `/merge`.
_COMMAND = re.compile(r"^([^\S\n]*)/", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GitLabRequest:
    """The notes of a merge request.

    Args:
        client: GitLab's API.
        project: its id.
        number: number of the merge request in the project.
    """

    client: HttpClient
    project: int
    number: int

    @property
    def name(self) -> str:
        return f"project {self.project}!{self.number}"

    @property
    def _path(self) -> str:
        return f"/projects/{self.project}/merge_requests/{self.number}/notes"

    def mine(self) -> list[PostedComment]:
        user = self.client.request("GET", "/user")
        me = user.get("id") if isinstance(user, Mapping) else None
        if not isinstance(me, int):
            raise CodeHostError("does not name the owner of this token", where="GET /user")
        notes = [note for note in self.client.pages(self._path, {"sort": "asc"}) if isinstance(note, Mapping)]
        return [PostedComment(int(note["id"]), str(note.get("body") or "")) for note in notes if _author(note) == me]

    def add(self, body: str) -> None:
        self.client.request("POST", self._path, {"body": without_commands(body)})

    def change(self, id: int, body: str) -> None:
        self.client.request("PUT", f"{self._path}/{id}", {"body": without_commands(body)})


def without_commands(body: str) -> str:
    """Escape lines that GitLab would run as commands.

    Example:
        >>> without_commands("a\\n/merge")
        'a\\n\\\\/merge'
    """
    return _COMMAND.sub(r"\1\\/", body)


def merge_request_of(client: HttpClient, variables: Mapping[str, str]) -> GitLabRequest:
    """The merge request of a pipeline.

    Args:
        client: GitLab's API.
        variables: variables of the job: CI_PROJECT_ID, CI_MERGE_REQUEST_IID.

    Raises:
        UsageError: this is not a merge request pipeline.
    """
    found = [variables.get(name, "") for name in ("CI_PROJECT_ID", "CI_MERGE_REQUEST_IID")]
    if not all(_NUMBER.fullmatch(value) for value in found):
        hint = 'add to the job: rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}]'
        raise UsageError("this is not a merge request pipeline", hint=hint)
    return GitLabRequest(client, int(found[0]), int(found[1]))


def _author(note: Mapping[str, object]) -> object:
    author = note.get("author")
    return author.get("id") if isinstance(author, Mapping) and not note.get("system") else None
