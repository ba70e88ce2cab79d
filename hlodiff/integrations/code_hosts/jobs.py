"""Settings of a GitHub Actions or GitLab CI job: where its comment goes, and the result it is about."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlodiff.errors import UsageError
from hlodiff.integrations.code_hosts.github import COMMIT, GitHubRequest, pull_request_of, triggered_by, uploaded
from hlodiff.integrations.code_hosts.gitlab import merge_request_of
from hlodiff.integrations.code_hosts.http_client import HttpClient
from hlodiff.integrations.code_hosts.post_comment import Comments
from hlodiff.report.lines import is_link
from hlodiff.report.untrusted_result import read_result

_LOG = logging.getLogger(__name__)
_TOKENS = {"github": ("GITHUB_TOKEN", "GH_TOKEN"), "gitlab": ("HLODIFF_GITLAB_TOKEN",)}


@dataclass(frozen=True, slots=True)
class CommentTask:
    """A comment to post, and where.

    Args:
        comments: comments of the pull request.
        result: the saved result.
        where: origin of the result, for errors.
        link: address of the run.
        record: the command that records what CI captured.
        commit: hash of the commit that the result is about; "" if the job does not give it.
        source: address of the files of that commit, ending in a slash; "" if unknown.
    """

    comments: Comments
    result: str
    where: str
    link: str
    record: str = ""
    commit: str = ""
    source: str = ""


def comment_task(result: Path | None, artifact: str, author: str, variables: Mapping[str, str]) -> CommentTask | None:
    """The comment that this job has to post.

    Args:
        result: a saved result; None for the result of the run that triggered this one.
        artifact: name of the artifact that this run uploaded.
        author: on GitHub, the account that writes our comment.
        variables: environment variables of the job.

    Returns:
        the task; None if there is nothing to post, which is logged.

    Raises:
        UsageError: this is not such a job, or a variable, token or file is missing.
        CodeHostError: the code host responds unexpectedly.
    """
    job = _Job(variables)
    return job.gitlab(result) if variables.get("GITLAB_CI") else job.github(result, artifact, author)


@dataclass(frozen=True, slots=True)
class _Job:
    """Settings in the environment variables of a job."""

    variables: Mapping[str, str]

    def github(self, result: Path | None, artifact: str, author: str) -> CommentTask | None:
        event = self._event()
        api = self._variable("GITHUB_API_URL")
        server = self._address("GITHUB_SERVER_URL")
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        client = HttpClient(
            api, headers | {"Authorization": f"Bearer {self._token('github')}"}, "permissions: pull-requests: write"
        )
        if result is not None:
            request = event.get("pull_request") or {}
            number, head = request.get("number"), request.get("head")
            repository = self._variable("GITHUB_REPOSITORY")
            run = self._variable("GITHUB_RUN_ID")
            if not isinstance(number, int):
                hint = "run it in a workflow on `pull_request`, or without RESULT.json in one on `workflow_run`"
                raise UsageError("this event has no pull request", hint=hint)
            comments = GitHubRequest(client, repository, number, author)
            commit = _commit(head.get("sha") if isinstance(head, Mapping) else None)
            return CommentTask(
                comments,
                read_result(result),
                str(result),
                _run(server, repository, run),
                _download(repository, run, artifact),
                commit,
                _files(f"{server}/{repository}/blob", commit) if server else "",
            )
        about = triggered_by(event)
        found = uploaded(client, about, artifact)
        if found is None or found.result is None:
            _LOG.info(f"run {about.run} has uploaded no result as `{artifact}`: nothing is posted")
            return None
        pull_request = pull_request_of(client, about, found.number, author)
        if pull_request is None:
            _LOG.info("no open pull request has the commit of this run as its head: nothing is posted")
            return None
        link = _run(server, about.repository, str(about.run))
        return CommentTask(
            pull_request,
            found.result,
            f"{artifact} of run {about.run}",
            link,
            _download(about.repository, str(about.run), artifact),
            about.commit,
            _files(f"{server}/{about.repository}/blob", about.commit) if server else "",
        )

    def gitlab(self, result: Path | None) -> CommentTask:
        if result is None:
            raise UsageError("on GitLab the result is a file", hint="hlodiff comment hlodiff.json")
        client = HttpClient(
            self._variable("CI_API_V4_URL"), {"PRIVATE-TOKEN": self._token("gitlab")}, "the token needs the scope `api`"
        )
        comments = merge_request_of(client, self.variables)
        link, commit = self._address("CI_PIPELINE_URL"), _commit(self.variables.get("CI_COMMIT_SHA"))
        project = self._address("CI_PROJECT_URL")
        source = _files(f"{project}/-/blob", commit) if project else ""
        return CommentTask(comments, read_result(result), str(result), link, commit=commit, source=source)

    def _event(self) -> dict[str, Any]:
        path = self._variable("GITHUB_EVENT_PATH")
        try:
            event = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot be read: {error}", where="GITHUB_EVENT_PATH") from None
        if not isinstance(event, dict):
            raise UsageError("holds no event", where="GITHUB_EVENT_PATH")
        return event

    def _token(self, host: str) -> str:
        names = _TOKENS[host]
        token = next((self.variables[name] for name in names if self.variables.get(name)), "")
        if not token or not token.isprintable():
            raise UsageError(f"{names[0]} is not set", hint="set it for this step only: `env:` in its workflow")
        return token

    def _variable(self, name: str) -> str:
        value = self.variables.get(name, "")
        if not value:
            raise UsageError(f"{name} is not set", hint="`hlodiff comment` is for jobs of GitHub Actions and GitLab CI")
        return value.rstrip("/")

    def _address(self, name: str) -> str:
        value = self.variables.get(name, "").rstrip("/")
        return value if is_link(value) else ""


def _commit(value: object) -> str:
    return value if isinstance(value, str) and COMMIT.fullmatch(value) else ""


def _files(folder: str, commit: str) -> str:
    return f"{folder}/{commit}/" if commit else ""


def _run(server: str, repository: str, run: str) -> str:
    return f"{server}/{repository}/actions/runs/{run}" if server and run.isdigit() else ""


def _download(repository: str, run: str, artifact: str) -> str:
    """The command for a reviewer; nothing in it comes from the checked run."""
    if not run.isdigit():
        return ""
    # A separate folder per run, because gh does not overwrite. It contains a .gitignore, so it is not committed either.
    folder = f"{artifact}-{run}"
    return f"gh run download {run} -R {repository} -n {artifact}-pending -D {folder} && hlodiff accept --from {folder}"
