"""Questions about one function: its variants, its profile, what makes it larger than necessary.

The core imports none of it.
"""
