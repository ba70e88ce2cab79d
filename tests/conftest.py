"""What holds for every test."""

import os

# libtpu is here to compile; without this, a test that touches jax would ask for a TPU that is not there, for minutes.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"
