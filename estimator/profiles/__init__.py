"""Profiles: the measurements of a pair of models, made and read."""
