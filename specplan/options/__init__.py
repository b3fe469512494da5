"""Declarations of command-line options, with their names and ranges."""
