"""What git knows of recorded programs: their numbers over the commits that changed them, without compiling anything."""

from hlodiff.history.changes import Change as Change
from hlodiff.history.changes import at_least as at_least
from hlodiff.history.changes import by_size as by_size
from hlodiff.history.changes import changes as changes
from hlodiff.history.changes import crossings as crossings
from hlodiff.history.changes import merged_in as merged_in
from hlodiff.history.changes import values_on as values_on
from hlodiff.history.metrics import check_metrics as check_metrics
from hlodiff.history.metrics import completed as completed
from hlodiff.history.metrics import shown_metrics as shown_metrics
from hlodiff.history.readings import Reading as Reading
from hlodiff.history.readings import reading_of as reading_of
from hlodiff.history.rows import History as History
from hlodiff.history.rows import Row as Row
from hlodiff.history.rows import ToolchainStep as ToolchainStep
from hlodiff.history.rows import histories as histories
from hlodiff.history.steps import folders_of as folders_of
from hlodiff.history.steps import key_of as key_of
