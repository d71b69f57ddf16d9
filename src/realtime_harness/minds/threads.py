"""How the model's threads wait for each other."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

SPINS = "1000"


def wait_without_spinning(environ: MutableMapping[str, str] = os.environ) -> None:
    """Make GNU OpenMP's threads sleep soon when they wait, unless the user has said otherwise.

    Has an effect only before the first library that uses it is loaded. By default they spin for milliseconds at each
    of several hundred meeting points a token: alone that costs nothing, but beside one other busy thread on two cores
    it made a token ten and more times slower (decision 0005).
    """
    if "OMP_WAIT_POLICY" not in environ:
        environ.setdefault("GOMP_SPINCOUNT", SPINS)
