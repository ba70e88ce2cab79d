"""What is made from the definition of the configuration: `python -m tests.configuration_page` writes it.

The JSON Schema in hlodiff/config_schema.json, and the table of keys in docs/configuration.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from hlodiff.config import schema, table_of_keys
from hlodiff.policy import RULES_BY_NAME

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "hlodiff/config_schema.json"
PAGE = ROOT / "docs/configuration.md"


def schema_text() -> str:
    """The file as it should be."""
    return json.dumps(schema(RULES_BY_NAME), indent=1) + "\n"


def page() -> str:
    """The page with the table as it should be; everything else is written by hand."""
    return re.sub(r"^\| key \| type .*\n(\|.*\n)+", lambda _: table_of_keys(), PAGE.read_text(), count=1, flags=re.M)


if __name__ == "__main__":
    SCHEMA.write_text(schema_text())
    PAGE.write_text(page())
