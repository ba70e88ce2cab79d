"""Git, code hosts and CI around hlodiff. The core imports none of it."""
