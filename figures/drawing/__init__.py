"""How figures look, the tables behind them, and their files."""
