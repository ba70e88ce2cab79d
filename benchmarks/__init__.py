"""Exactness of the differ on known edits, and its speed as ratios. `python -m benchmarks` prints both."""
