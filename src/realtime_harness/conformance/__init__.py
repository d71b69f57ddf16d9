"""Conformance: whether an engine can be used, told by what it does on the wire. Judges raw JSON, never our own models."""
