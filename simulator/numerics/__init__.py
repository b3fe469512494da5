"""Checks of function arguments, bisection, and confidence intervals."""
