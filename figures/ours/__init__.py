"""Figures that no paper has: what this project plans and measures."""
