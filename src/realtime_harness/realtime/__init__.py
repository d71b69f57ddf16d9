"""The two vocabularies: HRP events above a `Conversation`, Orders and Facts below it.

Pure: no I/O, no clock, nothing else of ours but `errors`. docs/design.md 2 and 4.
"""
