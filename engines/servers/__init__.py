"""Engines: how each kind is started or reached, decodes and counts. One file for each kind."""
