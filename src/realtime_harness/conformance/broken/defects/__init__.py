"""Broken engines: each is the correct one with one small, named change, and says which check must find it, and how.

They are what real servers get wrong: beta names, turns committed under another id, replies nobody asked for, clocks that
do not start again, cancels that come late.
"""

from realtime_harness.conformance.broken.defects import answers, interruptions, openings, pauses, settings, turns
from realtime_harness.conformance.broken.defects.defect import Defect, listed

DEFECTS: tuple[Defect, ...] = tuple(
    defect for module in (openings, turns, interruptions, pauses, answers, settings) for defect in listed(module)
)

__all__ = ["DEFECTS", "Defect"]
