"""Runs on an engine: priced, predicted, measured, and audited."""
