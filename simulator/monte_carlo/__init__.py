"""The process itself, drawn at random: an oracle of the closed forms, and what has none."""
