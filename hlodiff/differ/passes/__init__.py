"""XLA's pass dumps: which text is which stage, what each pass did, where an instruction comes from, where two part."""
