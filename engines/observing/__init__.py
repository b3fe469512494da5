"""Reads and checks the counts of drafts that running servers print."""
