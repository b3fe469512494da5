"""Next-token laws: rows, what makes them from logits, and how likely a given text is accepted."""
