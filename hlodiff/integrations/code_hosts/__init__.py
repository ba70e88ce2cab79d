"""One comment on a pull or merge request, from an untrusted result."""

from hlodiff.integrations.code_hosts.github import triggered_by as triggered_by
from hlodiff.integrations.code_hosts.github import uploaded as uploaded
from hlodiff.integrations.code_hosts.http_client import HttpClient as HttpClient
from hlodiff.integrations.code_hosts.jobs import comment_task as comment_task
from hlodiff.integrations.code_hosts.post_comment import above_totals as above_totals
from hlodiff.integrations.code_hosts.post_comment import is_quiet as is_quiet
from hlodiff.integrations.code_hosts.post_comment import named as named
from hlodiff.integrations.code_hosts.post_comment import post as post
