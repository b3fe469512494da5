"""Heads that draft token after token from the target's states: EAGLE-3, multi-token prediction."""
