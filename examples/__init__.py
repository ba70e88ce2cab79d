"""Registered functions: small and real, each showing one change that the compiled programs give away."""
