"""`hlodiff comment`: one comment on a pull or merge request, kept up to date."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from hlodiff.cli import options
from hlodiff.cli.output import emit, messages
from hlodiff.errors import UsageError

_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_ARTIFACT = "hlodiff"
_BOT = "github-actions[bot]"


@click.command(
    "comment",
    epilog="""\b
Example:
  hlodiff comment result.json --page https://example.org/pr-7/hlodiff.html
""",
)
@click.argument("result", metavar="[RESULT.json]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--artifact",
    default=_ARTIFACT,
    show_default=True,
    metavar="NAME",
    help="What the measuring run uploaded; each name has a comment of its own.",
)
@click.option("--author", default=_BOT, show_default=True, metavar="LOGIN", help="On GitHub: whose comment is ours.")
@click.option(
    "--page",
    metavar="URL",
    callback=lambda context, _, value: options.address(context, value),
    help="Where the HTML page of this result is; each function links to its place there.",
)
@click.option("--dry-run", is_flag=True, help="Print the comment and what would be done; write nothing.")
def command(result: Path | None, artifact: str, author: str, page: str, dry_run: bool) -> int:
    """Post the result of a check as one comment on a pull or merge request, and keep it up to date.

    \b
    GitHub, workflow on `workflow_run`:   hlodiff comment
    GitHub, workflow on `pull_request`:   hlodiff comment RESULT.json
    GitLab, pipeline of a merge request:  hlodiff comment RESULT.json

    The first form does not trust the run that it reports on: it reads two files of the artifact in memory, takes the
    pull request from the event, and runs nothing. The token is read from GITHUB_TOKEN or
    HLODIFF_GITLAB_TOKEN. If nothing changed, nothing is posted, unless an earlier comment is out of date.

    Exits 0 if the comment is up to date or none is needed, and 2 if it could not be posted.
    """
    from hlodiff.integrations.code_hosts import above_totals, comment_task, is_quiet, named, post
    from hlodiff.report.comment import to_comment
    from hlodiff.report.untrusted_result import read_untrusted_view

    if not _NAME.fullmatch(artifact):
        raise UsageError("is not an artifact name", where="--artifact", hint="letters, digits, `_`, `-` and `.`")
    with messages():
        task = comment_task(result, artifact, author, os.environ)
    if task is None:
        return 0
    view = read_untrusted_view(task.result, task.where)
    quiet = is_quiet(view)
    body = to_comment(view, task.link, page, task.source)
    body = body if artifact == _ARTIFACT else named(body, artifact)
    if task.commit:  # shows whether it is from the last push; code hosts turn the hash into a short link
        body = above_totals(body, f"Of commit {task.commit}.")
    if task.record and view.command == "check" and any(p.status in ("changed", "added") for p in view.programs):
        body = above_totals(body, f"Meant? Record what CI captured: `{task.record}`")
    done = post(task.comments, body, quiet, write=not dry_run)
    if dry_run:
        emit(body, None)
    would = "would be " if dry_run else ""
    emit(f"comment on {task.comments.name}: {would}{done}\n", None)
    return 0
