"""Costs of blocks, in seconds and in operations."""
