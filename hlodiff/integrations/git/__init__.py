"""The git drivers: what `hlodiff git install` sets up, and what git then calls."""
