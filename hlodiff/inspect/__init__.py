"""Questions about one function: its variants, its profile, and what makes it larger than necessary.

The core does not import this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlodiff.lazy_names import lazy_names

if TYPE_CHECKING:
    from hlodiff.inspect.passes import PassesView as PassesView
    from hlodiff.inspect.passes import passes_json as passes_json
    from hlodiff.inspect.passes import passes_markdown as passes_markdown
    from hlodiff.inspect.passes import passes_text as passes_text
    from hlodiff.inspect.passes import passes_view as passes_view
    from hlodiff.inspect.profile import Profile as Profile
    from hlodiff.inspect.profile import profiles_json as profiles_json
    from hlodiff.inspect.profile import profiles_markdown as profiles_markdown
    from hlodiff.inspect.profile import profiles_text as profiles_text
    from hlodiff.inspect.summary import file_reasons as file_reasons
    from hlodiff.inspect.summary import file_summary as file_summary
    from hlodiff.inspect.summary import reasons_text as reasons_text
    from hlodiff.inspect.summary import summary_text as summary_text
    from hlodiff.inspect.variants import variants_json as variants_json
    from hlodiff.inspect.variants import variants_markdown as variants_markdown
    from hlodiff.inspect.variants import variants_text as variants_text


if not TYPE_CHECKING:
    # Import a name on first use: a command needs one of them.
    __getattr__ = lazy_names(__spec__)
