"""The process itself, drawn at random, and texts of finite length."""
