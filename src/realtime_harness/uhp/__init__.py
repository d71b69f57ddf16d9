"""UHP, the Unified Harness Protocol: its objects, events, errors and ids. Pure; imports only `errors` of ours.

Source: UHP 2026-10-04 and 2026-08-11 (HarnessRouter/harnessrouter, `protocol/`).
"""
