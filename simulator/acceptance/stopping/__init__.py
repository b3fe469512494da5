"""Stopping rules: a file for each, which names where its engine applies it, and their replay."""
