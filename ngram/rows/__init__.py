"""A back-off model in memory and its rows over a whole vocabulary."""
