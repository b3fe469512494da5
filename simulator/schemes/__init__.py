"""Drafts that branch: the expected tokens of trees, and the fastest tree of each size."""
