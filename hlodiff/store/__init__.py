"""Snapshot folders: names, reading, atomic writing, git revisions. Knows programs as text and modules, nothing else."""

from hlodiff.store.names import PYTEST as PYTEST
from hlodiff.store.names import Key as Key
from hlodiff.store.names import is_safe as is_safe
from hlodiff.store.names import keys_of as keys_of
from hlodiff.store.provenance import attach_source as attach_source
from hlodiff.store.provenance import numbered as numbered
from hlodiff.store.provenance import restored as restored
from hlodiff.store.provenance import source_of as source_of
from hlodiff.store.snapshot import Listing as Listing
from hlodiff.store.snapshot import Snapshot as Snapshot
from hlodiff.store.snapshot import list_snapshots as list_snapshots
from hlodiff.store.snapshot import read_snapshot as read_snapshot
from hlodiff.store.snapshot import read_summary as read_summary
from hlodiff.store.snapshot import unpack as unpack
from hlodiff.store.trees import FolderTree as FolderTree
from hlodiff.store.trees import GitTree as GitTree
from hlodiff.store.trees import Tree as Tree
from hlodiff.store.trees import open_revision as open_revision
from hlodiff.store.writing import MAX_FILE_BYTES as MAX_FILE_BYTES
from hlodiff.store.writing import is_unfinished as is_unfinished
from hlodiff.store.writing import recover as recover
from hlodiff.store.writing import remove_snapshot as remove_snapshot
from hlodiff.store.writing import write_snapshot as write_snapshot
from hlodiff.store.writing import writing as writing
from hlodiff.store.yaml_text import FORMAT_VERSION as FORMAT_VERSION
from hlodiff.store.yaml_text import FutureFormatError as FutureFormatError
