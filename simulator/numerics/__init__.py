"""Checks of function arguments, and confidence intervals."""
