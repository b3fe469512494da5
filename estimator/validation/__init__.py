"""Predicted against measured, row by row."""
