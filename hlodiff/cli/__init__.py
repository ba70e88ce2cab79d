"""The command line: arguments, progress, printing, exit codes. One file for each command."""

from hlodiff.cli.entry import main as main
from hlodiff.cli.entry import run as run
