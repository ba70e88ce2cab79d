"""`hlodiff comment`: one comment on a pull or merge request, changed in place."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit, tell
from hlodiff.cli.report_command import read_result
from hlodiff.errors import UsageError

if TYPE_CHECKING:
    from hlodiff.integrations.code_hosts import Comments


_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_ARTIFACT = "hlodiff"
_BOT = "github-actions[bot]"
_TOKENS = {"github": ("GITHUB_TOKEN", "GH_TOKEN"), "gitlab": ("HLODIFF_GITLAB_TOKEN",)}


@dataclass(frozen=True, slots=True)
class _Task:
    """What to post where: a saved result, whence it comes, its link, and what to type to record what CI captured."""

    comments: Comments
    result: str
    where: str
    link: str
    record: str = ""


@click.command("comment")
@click.argument("result", metavar="[RESULT.json]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--artifact",
    default=_ARTIFACT,
    show_default=True,
    metavar="NAME",
    help="What the measuring run uploaded; each name has a comment of its own.",
)
@click.option("--author", default=_BOT, show_default=True, metavar="LOGIN", help="On GitHub: whose comment is ours.")
@click.option("--dry-run", is_flag=True, help="Print the comment and what would be done; write nothing.")
def command(result: Path | None, artifact: str, author: str, dry_run: bool) -> int:
    """Say on a pull or merge request what a check has found, in one comment that is changed in place.

    \b
    GitHub, workflow on `workflow_run`:   hlodiff comment
    GitHub, workflow on `pull_request`:   hlodiff comment RESULT.json
    GitLab, pipeline of a merge request:  hlodiff comment RESULT.json

    The first one trusts nothing that the measured run says: it reads two files of the artifact in memory, takes the
    pull request from the event, and runs nothing. The token stands in GITHUB_TOKEN or HLODIFF_GITLAB_TOKEN. Where
    nothing changed there is no comment, unless an earlier one has to be put right.

    Exits 0 where all is said, also where nothing was to be said, and 2 where that was not possible.
    """
    from hlodiff.integrations.code_hosts import is_quiet, named, post, with_command
    from hlodiff.report.comment import to_comment
    from hlodiff.report.untrusted_result import read_untrusted_view

    if not _NAME.fullmatch(artifact):
        raise UsageError("is no name of an artifact", where="--artifact", hint="letters, digits, `_`, `-` and `.`")
    task = _gitlab(result) if os.environ.get("GITLAB_CI") else _github(result, artifact, author)
    if task is None:
        return 0
    view = read_untrusted_view(task.result, task.where)
    quiet = is_quiet(view)
    body = to_comment(view, task.link)
    body = body if artifact == _ARTIFACT else named(body, artifact)
    if task.record and view.command == "check" and any(p.status in ("changed", "added") for p in view.programs):
        body = with_command(body, task.record)
    done = post(task.comments, body, quiet, write=not dry_run)
    if dry_run:
        emit(body, None)
    would = "would be " if dry_run else ""
    emit(f"comment on {task.comments.name}: {would}{done}\n", None)
    return 0


def _github(result: Path | None, artifact: str, author: str) -> _Task | None:
    from hlodiff.integrations.code_hosts import GitHubRequest, HttpClient, pull_request_of, triggered_by, uploaded

    event = _event()
    api = _variable("GITHUB_API_URL")
    server = _address("GITHUB_SERVER_URL")
    headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    client = HttpClient(
        api, headers | {"Authorization": f"Bearer {_token('github')}"}, "permissions: pull-requests: write"
    )
    if result is not None:
        number = (event.get("pull_request") or {}).get("number")
        repository = _variable("GITHUB_REPOSITORY")
        run = _variable("GITHUB_RUN_ID")
        if not isinstance(number, int):
            hint = "run it in a workflow on `pull_request`, or without RESULT.json in one on `workflow_run`"
            raise UsageError("this event is about no pull request", hint=hint)
        comments = GitHubRequest(client, repository, number, author)
        return _Task(
            comments,
            read_result(result),
            str(result),
            _run(server, repository, run),
            _download(repository, run, artifact),
        )
    about = triggered_by(event)
    found = uploaded(client, about, artifact)
    if found is None or found.result is None:
        tell(f"run {about.run} has uploaded no result as `{artifact}`: nothing is said")
        return None
    request = pull_request_of(client, about, found.number, author)
    if request is None:
        tell("no open pull request has the commit of this run as its head: nothing is said")
        return None
    link = _run(server, about.repository, str(about.run))
    return _Task(
        request,
        found.result,
        f"{artifact} of run {about.run}",
        link,
        _download(about.repository, str(about.run), artifact),
    )


def _gitlab(result: Path | None) -> _Task:
    from hlodiff.integrations.code_hosts import HttpClient, merge_request_of

    if result is None:
        raise UsageError("on GitLab the result is a file", hint="hlodiff comment hlodiff.json")
    client = HttpClient(
        _variable("CI_API_V4_URL"), {"PRIVATE-TOKEN": _token("gitlab")}, "the token needs the scope `api`"
    )
    comments = merge_request_of(client, os.environ)
    return _Task(comments, read_result(result), str(result), _address("CI_PIPELINE_URL"))


def _run(server: str, repository: str, run: str) -> str:
    return f"{server}/{repository}/actions/runs/{run}" if server and run.isdigit() else ""


def _download(repository: str, run: str, artifact: str) -> str:
    """What a reviewer types; nothing in it comes from the measured run."""
    if not run.isdigit():
        return ""
    # A folder of its own for each run: gh writes over nothing. It holds a .gitignore, so it is not committed either.
    folder = f"{artifact}-{run}"
    return f"gh run download {run} -R {repository} -n {artifact}-pending -D {folder} && hlodiff accept --from {folder}"


def _event() -> dict[str, Any]:
    path = _variable("GITHUB_EVENT_PATH")
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot be read: {error}", where="GITHUB_EVENT_PATH") from None
    if not isinstance(event, dict):
        raise UsageError("holds no event", where="GITHUB_EVENT_PATH")
    return event


def _token(host: str) -> str:
    names = _TOKENS[host]
    token = next((os.environ[name] for name in names if os.environ.get(name)), "")
    if not token or not token.isprintable():
        raise UsageError(f"{names[0]} is not set", hint="give it to this step alone: env: in its workflow")
    return token


def _variable(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise UsageError(f"{name} is not set", hint="`hlodiff comment` is for jobs of GitHub Actions and GitLab CI")
    return value.rstrip("/")


def _address(name: str) -> str:
    value = os.environ.get(name, "").rstrip("/")
    return value if options.is_link(value) else ""
