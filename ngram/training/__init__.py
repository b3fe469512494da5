"""From a corpus to smoothed n-grams."""
