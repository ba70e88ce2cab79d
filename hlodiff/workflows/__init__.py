"""The application that the command line, pytest and Python call. Nothing here prints or parses arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.workflows.accept import PendingReview as PendingReview
    from hlodiff.workflows.accept import Selection as Selection
    from hlodiff.workflows.accept import decisions_json as decisions_json
    from hlodiff.workflows.accept import find_pending as find_pending
    from hlodiff.workflows.build_snapshot import ParsedSnapshot as ParsedSnapshot
    from hlodiff.workflows.build_snapshot import parse_snapshot as parse_snapshot
    from hlodiff.workflows.build_snapshot import snapshot_of as snapshot_of
    from hlodiff.workflows.configuration import load as load
    from hlodiff.workflows.configuration import load_if_any as load_if_any
    from hlodiff.workflows.diff import diff_sides as diff_sides
    from hlodiff.workflows.growth import PythonLoops as PythonLoops
    from hlodiff.workflows.passes import folder_dumps as folder_dumps
    from hlodiff.workflows.passes import is_dump_folder as is_dump_folder
    from hlodiff.workflows.pending_writer import pending_folder as pending_folder
    from hlodiff.workflows.set_up import set_up_project as set_up_project
    from hlodiff.workflows.sides import open_side as open_side
    from hlodiff.workflows.staleness import Freshness as Freshness
    from hlodiff.workflows.update import update_json as update_json
    from hlodiff.workflows.upgrade import compare_environments as compare_environments


if not TYPE_CHECKING:
    # Import a name on first use: a command needs one of them.
    __getattr__ = lazy_names(__spec__)
