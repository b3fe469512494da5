"""Checks of function arguments, confidence intervals, and uncertain predictions."""
