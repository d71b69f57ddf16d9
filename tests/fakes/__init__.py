"""Doubles that tests of several rooms share."""
