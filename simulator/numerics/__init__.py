"""What formulas ask of their arguments, and bisection."""
