"""Trains smoothed n-gram models on a corpus."""
