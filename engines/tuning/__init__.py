"""Tuning: the best draft length on the machine itself, found in few runs."""
