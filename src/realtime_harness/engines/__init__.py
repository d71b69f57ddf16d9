"""Engines: the registry, the one generic session loop, and a folder for each backend."""
