"""Profiles: what was measured of a pair, made and read."""
