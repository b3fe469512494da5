"""Validations: predicted against measured speed-ups, one row for each setting."""
