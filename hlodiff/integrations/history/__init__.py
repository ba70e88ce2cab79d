"""The history of recorded programs in git: their numbers over the commits that changed them, without compiling."""

from hlodiff.integrations.history.recorded_numbers import reading_of as reading_of
from hlodiff.integrations.history.report import ShownHistory as ShownHistory
from hlodiff.integrations.history.report import history_csv as history_csv
from hlodiff.integrations.history.report import history_json as history_json
from hlodiff.integrations.history.report import history_markdown as history_markdown
from hlodiff.integrations.history.report import history_text as history_text
from hlodiff.integrations.history.rows import History as History
from hlodiff.integrations.history.rows import by_size as by_size
from hlodiff.integrations.history.rows import changes as changes
from hlodiff.integrations.history.rows import crossings as crossings
from hlodiff.integrations.history.rows import shown_metrics as shown_metrics
from hlodiff.integrations.history.rows import values_on as values_on
from hlodiff.integrations.history.select import HistoryRequest as HistoryRequest
from hlodiff.integrations.history.select import find as find
