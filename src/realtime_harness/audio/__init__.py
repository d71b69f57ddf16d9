"""Resampling, speech detection, spectra and WAV: thin typed adapters over native libraries."""
