"""Trains n-gram tables and blockwise heads on the files or outputs that a user names."""
