"""The history of recorded programs in git: their numbers over the commits that changed them, without compiling."""

from hlodiff.integrations.history.recorded_numbers import Reading as Reading
from hlodiff.integrations.history.recorded_numbers import reading_of as reading_of
from hlodiff.integrations.history.report import ShownHistory as ShownHistory
from hlodiff.integrations.history.report import history_csv as history_csv
from hlodiff.integrations.history.report import history_json as history_json
from hlodiff.integrations.history.report import history_markdown as history_markdown
from hlodiff.integrations.history.report import history_text as history_text
from hlodiff.integrations.history.rows import History as History
from hlodiff.integrations.history.rows import HistoryRow as HistoryRow
from hlodiff.integrations.history.rows import NumberChange as NumberChange
from hlodiff.integrations.history.rows import ToolchainStep as ToolchainStep
from hlodiff.integrations.history.rows import at_least as at_least
from hlodiff.integrations.history.rows import by_size as by_size
from hlodiff.integrations.history.rows import changes as changes
from hlodiff.integrations.history.rows import check_metrics as check_metrics
from hlodiff.integrations.history.rows import comparable as comparable
from hlodiff.integrations.history.rows import completed as completed
from hlodiff.integrations.history.rows import crossings as crossings
from hlodiff.integrations.history.rows import histories as histories
from hlodiff.integrations.history.rows import merged_in as merged_in
from hlodiff.integrations.history.rows import shown_metrics as shown_metrics
from hlodiff.integrations.history.rows import values_on as values_on
from hlodiff.integrations.history.select import HistoryRequest as HistoryRequest
from hlodiff.integrations.history.select import find as find
from hlodiff.integrations.history.steps import folders_of as folders_of
from hlodiff.integrations.history.steps import key_of as key_of
