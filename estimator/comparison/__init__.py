"""Two measurements of the same prompts: how far they differ."""
