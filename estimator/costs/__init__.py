"""Costs of blocks, in seconds and in operations, and of deployments without measurements."""
