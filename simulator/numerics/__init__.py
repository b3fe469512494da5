"""Checks of the arguments of formulas, and bisection."""
