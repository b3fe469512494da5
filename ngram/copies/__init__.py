"""Computes how many copied tokens are accepted along recorded texts, at all positions at once."""
