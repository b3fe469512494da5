"""Engines: how each kind is started or reached, decodes and counts. One file a kind."""
