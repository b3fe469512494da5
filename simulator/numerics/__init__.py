"""What formulas ask of their arguments, evaluation over large arrays, bisection."""
