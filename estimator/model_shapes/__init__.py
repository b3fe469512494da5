"""Shapes of models counted from their configurations, by building them without weights."""
