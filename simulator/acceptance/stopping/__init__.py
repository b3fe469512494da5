"""Stopping rules, their replay, and verification by rank."""
