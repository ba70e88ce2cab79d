"""Traces of jitted functions: what each call looked like, and why JAX traced or compiled it once more."""
