"""The process itself, drawn at random, as an oracle of the closed forms; texts of finite length."""
