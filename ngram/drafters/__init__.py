"""Drafters that cost next to nothing: n-grams and copies from the text itself."""
