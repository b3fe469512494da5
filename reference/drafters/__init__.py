"""Drafters that use a second model, an early exit, a hierarchy, a head, a tree, or chance."""
