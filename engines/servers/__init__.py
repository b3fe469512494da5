"""Engines as they are started, or reached where they run, asked and read: one of each kind."""
