"""Git, code hosts and CI. The core does not import this package."""
