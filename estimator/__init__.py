"""Runs models: acceptance, costs, traces, profiles and validation."""
