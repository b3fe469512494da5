"""Acceptance rules: which drafted tokens are accepted, and what replaces a rejected one."""
