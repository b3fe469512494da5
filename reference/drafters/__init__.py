"""Drafters made of models: a second model, early exits, hierarchies, chance."""
