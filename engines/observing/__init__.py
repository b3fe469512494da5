"""Reads and judges the counts of drafts that running servers print."""
