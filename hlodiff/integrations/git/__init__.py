"""The git drivers, set up by `hlodiff git install` and called by git."""
