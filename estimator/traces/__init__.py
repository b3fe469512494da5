"""Acceptance along texts of the target, kept on disk, and what replaying it foretells."""
