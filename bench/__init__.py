"""Measurements. `python -m bench` prints the figures that the README quotes; `python -m bench.soak` is the long run."""
