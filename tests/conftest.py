"""What holds for every test."""

import os

# libtpu is installed for compiling; without this, a test that touches jax asks for a TPU that is not there, for minutes.
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"
