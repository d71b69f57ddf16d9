"""The HyperStudy study contract as data: what a study tells an agent, what it asks, and which answers it takes.

Pure: imports nothing else of ours but `realtime` and `errors`. The conformance suites and `rth spec` read their rules here,
so that a rule has one place.
"""
