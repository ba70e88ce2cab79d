"""Questions about one function: its variants, its profile, and what makes it larger than necessary.

The core does not import this package.
"""
