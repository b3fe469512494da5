"""Acceptance along texts of the target, saved on disk, and predictions by replaying it."""
