"""The HTML page: one file to look at a result with, made from the same record as all other forms."""

from hlodiff.report.page.bounds import PAGE_LIMITS as PAGE_LIMITS
from hlodiff.report.page.bounds import PageLimits as PageLimits
from hlodiff.report.page.writing import to_page as to_page
