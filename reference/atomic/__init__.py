"""Files that are either as they were or complete."""
