"""Weights: what they are, where they come from, and proof that they are the official ones.

store = ModelStore()
store.fetch("whisper-tiny.en")          # once; blocks
store.path("whisper-tiny.en")           # the checked directory, from then on
"""

from realtime_harness.models.manifest import MANIFEST, Manifest, Model, ModelFile, Part
from realtime_harness.models.shelf import State, Status
from realtime_harness.models.store import ModelStore, Progress, ProgressCallback

__all__ = [
    "MANIFEST",
    "Manifest",
    "Model",
    "ModelFile",
    "ModelStore",
    "Part",
    "Progress",
    "ProgressCallback",
    "State",
    "Status",
]
