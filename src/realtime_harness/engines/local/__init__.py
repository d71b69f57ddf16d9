"""The embedded voice agent: no key and no network."""
