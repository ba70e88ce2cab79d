"""Damaged inputs for every reader, the differ and the normalizer: `make fuzz MINUTES=10`.

An input is made from a seed number alone, so that a find is one line: `python -m tests.fuzzing hlo 4711`.
"""
