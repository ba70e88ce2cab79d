"""One comment on a pull or merge request, from a result that need not be trusted."""

from hlodiff.forge.github import GitHubRequest as GitHubRequest
from hlodiff.forge.github import Triggered as Triggered
from hlodiff.forge.github import pull_request_of as pull_request_of
from hlodiff.forge.github import triggered_by as triggered_by
from hlodiff.forge.github import uploaded as uploaded
from hlodiff.forge.gitlab import GitLabRequest as GitLabRequest
from hlodiff.forge.gitlab import merge_request_of as merge_request_of
from hlodiff.forge.posting import Comments as Comments
from hlodiff.forge.posting import Posted as Posted
from hlodiff.forge.posting import is_quiet as is_quiet
from hlodiff.forge.posting import named as named
from hlodiff.forge.posting import post as post
from hlodiff.forge.posting import with_command as with_command
from hlodiff.forge.wire import Wire as Wire
