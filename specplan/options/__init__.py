"""Declarations of options, names and ranges."""
