"""A correct scripted engine, and engines that each break one rule: what shows that a suite can fail."""
