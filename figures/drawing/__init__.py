"""How figures look, the tables behind them, and results that they are drawn from."""
