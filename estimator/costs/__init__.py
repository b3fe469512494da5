"""Costs of blocks, in seconds and in operations, and of deployments that are not yet measured."""
