"""The HTML page: one file to look at a result with, made from the same record as all other forms."""

from hlodiff.report.html.limits import PAGE_LIMITS as PAGE_LIMITS
from hlodiff.report.html.limits import PageLimits as PageLimits
from hlodiff.report.html.page import to_page as to_page
from hlodiff.report.html.picture import PicturedProgram as PicturedProgram
from hlodiff.report.html.picture import PictureLimits as PictureLimits
from hlodiff.report.html.picture import to_picture as to_picture
