"""Ground truth for the differ, and speed as ratios. `python -m benchmarks` prints the speed."""
