"""Tuning: finds the best draft length on the machine itself, in few runs."""
