"""Snapshot folders: names, reading, atomic writing, git revisions. It knows programs only as text and modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.snapshots.backup import Backup as Backup
    from hlodiff.snapshots.backup import back_up as back_up
    from hlodiff.snapshots.backup import digests as digests
    from hlodiff.snapshots.backup import restore as restore
    from hlodiff.snapshots.keys import PYTEST as PYTEST
    from hlodiff.snapshots.keys import Key as Key
    from hlodiff.snapshots.keys import is_safe as is_safe
    from hlodiff.snapshots.keys import keys_of as keys_of
    from hlodiff.snapshots.paths import BlockedError as BlockedError
    from hlodiff.snapshots.pending import OWN_FOLDER as OWN_FOLDER
    from hlodiff.snapshots.pending import CaptureOrigin as CaptureOrigin
    from hlodiff.snapshots.pending import Pending as Pending
    from hlodiff.snapshots.pending import PendingRecord as PendingRecord
    from hlodiff.snapshots.pending import digest as digest
    from hlodiff.snapshots.pending import drop_pending as drop_pending
    from hlodiff.snapshots.pending import drop_record as drop_record
    from hlodiff.snapshots.pending import holding as holding
    from hlodiff.snapshots.pending import keep_pending as keep_pending
    from hlodiff.snapshots.pending import keep_record as keep_record
    from hlodiff.snapshots.pending import program_id as program_id
    from hlodiff.snapshots.pending import read_pending as read_pending
    from hlodiff.snapshots.pending import read_record as read_record
    from hlodiff.snapshots.pending import record_digest as record_digest
    from hlodiff.snapshots.pending import record_id as record_id
    from hlodiff.snapshots.pending import tidy_pending as tidy_pending
    from hlodiff.snapshots.provenance import attach_source as attach_source
    from hlodiff.snapshots.provenance import content_id as content_id
    from hlodiff.snapshots.provenance import contents_of_files as contents_of_files
    from hlodiff.snapshots.provenance import name_arguments as name_arguments
    from hlodiff.snapshots.provenance import name_results as name_results
    from hlodiff.snapshots.provenance import numbered as numbered
    from hlodiff.snapshots.provenance import recorded_files as recorded_files
    from hlodiff.snapshots.provenance import restored as restored
    from hlodiff.snapshots.provenance import source_of as source_of
    from hlodiff.snapshots.read import Snapshot as Snapshot
    from hlodiff.snapshots.read import StaleError as StaleError
    from hlodiff.snapshots.read import is_stale as is_stale
    from hlodiff.snapshots.read import list_snapshots as list_snapshots
    from hlodiff.snapshots.read import marked_stale as marked_stale
    from hlodiff.snapshots.read import read_snapshot as read_snapshot
    from hlodiff.snapshots.read import read_summary as read_summary
    from hlodiff.snapshots.read import read_whole_snapshot as read_whole_snapshot
    from hlodiff.snapshots.read import stale_of as stale_of
    from hlodiff.snapshots.read import table_in as table_in
    from hlodiff.snapshots.read import unpack as unpack
    from hlodiff.snapshots.records import RECORDS as RECORDS
    from hlodiff.snapshots.records import RecordedTraces as RecordedTraces
    from hlodiff.snapshots.records import list_growth as list_growth
    from hlodiff.snapshots.records import list_records as list_records
    from hlodiff.snapshots.records import read_growth as read_growth
    from hlodiff.snapshots.records import read_traces as read_traces
    from hlodiff.snapshots.records import recorded_text as recorded_text
    from hlodiff.snapshots.records import remove_growth as remove_growth
    from hlodiff.snapshots.records import remove_traces as remove_traces
    from hlodiff.snapshots.records import scenarios_of as scenarios_of
    from hlodiff.snapshots.records import traces_of as traces_of
    from hlodiff.snapshots.records import traces_table as traces_table
    from hlodiff.snapshots.records import write_growth as write_growth
    from hlodiff.snapshots.records import write_traces as write_traces
    from hlodiff.snapshots.trees import FolderTree as FolderTree
    from hlodiff.snapshots.trees import GitTree as GitTree
    from hlodiff.snapshots.trees import Tree as Tree
    from hlodiff.snapshots.trees import open_revision as open_revision
    from hlodiff.snapshots.write import is_unfinished as is_unfinished
    from hlodiff.snapshots.write import remove_snapshot as remove_snapshot
    from hlodiff.snapshots.write import rewrite_snapshot as rewrite_snapshot
    from hlodiff.snapshots.write import tidy as tidy
    from hlodiff.snapshots.write import write_new_snapshot as write_new_snapshot
    from hlodiff.snapshots.write import write_snapshot as write_snapshot
    from hlodiff.snapshots.write import writing as writing
    from hlodiff.snapshots.yaml_format import SUMMARY_VERSION as SUMMARY_VERSION
    from hlodiff.snapshots.yaml_format import FutureFormatError as FutureFormatError
    from hlodiff.snapshots.yaml_format import dump_yaml as dump_yaml
    from hlodiff.snapshots.yaml_format import load_yaml as load_yaml


if not TYPE_CHECKING:
    # Import names on first use: a diff of two files reads no snapshot.
    __getattr__ = lazy_names(__spec__)
