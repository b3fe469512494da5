"""Heads that draft from the target's states: a file for each kind of configuration."""
