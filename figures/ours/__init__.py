"""Figures that no paper has: plans and measurements of this project."""
