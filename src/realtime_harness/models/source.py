"""What a source of weights is: something that yields a file's bytes, which the store then checks."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import IO, Protocol

from realtime_harness.models.manifest import Model, ModelFile

CHUNK_BYTES = 1 << 20


class SourceFailed(Exception):
    """This source cannot give the file; the store goes on to the next one. The message is a phrase for people."""


class Source(Protocol):
    """One place weights come from. It promises nothing about the bytes: the store hashes them."""

    @property
    def name(self) -> str:
        """The word for it in `RTH_MODEL_SOURCES`."""
        ...

    def chunks(self, model: Model, file: ModelFile, work: Path) -> Generator[bytes]:
        """Yield the bytes of `file` in order. `work` is a scratch directory that the store empties afterwards.

        Raises SourceFailed, before the first chunk or after any.
        """
        ...


def read_chunks(stream: IO[bytes]) -> Generator[bytes]:
    """Yield what is left in `stream`, at most `CHUNK_BYTES` at a time."""
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk
