"""The voice suite: ten checks of HRP, five of them for each turn detection. `rth check voice`."""
