"""Reads, writes, caches and describes ARPA files."""
