"""Has the speaker finished, or only paused? Smart Turn v3.2 hears it in the voice, not in the words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from realtime_harness.audio.mel import RATE_HZ, log_mel
from realtime_harness.audio.native import native
from realtime_harness.audio.resample import Float32
from realtime_harness.errors import ModelFileError

HEARD_S = 8


class _Session(Protocol):
    def run(self, names: None, inputs: Mapping[str, Float32]) -> Sequence[Float32]: ...


class EndOfTurn:
    """The end-of-turn model in `model_file` (ONNX). Blocks about 60 ms; may be used from several threads.

    Raises ModelFileError if the file is not the model.
    """

    def __init__(self, model_file: Path) -> None:
        onnx: Any = native("onnxruntime")
        options: Any = onnx.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what is wrong is raised, not printed
        try:
            session: Any = onnx.InferenceSession(str(model_file), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library's errors share no other root
            raise ModelFileError(
                f"{model_file} is not a usable Smart Turn model ({type(error).__name__}). "
                "Run: rth models fetch smart-turn-v3.2"
            ) from error
        self._session = cast("_Session", session)

    def warm_up(self) -> None:
        """Pay the first use's cost now."""
        self.probability(np.zeros(RATE_HZ, np.float32))

    def probability(self, samples_16k: Float32) -> float:
        """How likely the turn is complete, 0..1, by its last 8 s up to now (silence since the last word included)."""
        wanted = HEARD_S * RATE_HZ
        heard = samples_16k[-wanted:].astype(np.float32)
        window = np.pad(heard, (wanted - len(heard), 0))
        normal = ((window - window.mean()) / np.sqrt(window.var() + 1e-7)).astype(np.float32)
        (output,) = self._session.run(None, {"input_features": log_mel(normal)[None]})
        return float(np.ravel(output)[0])
