"""Interleaved runs of models on prompts, and how fast they were."""
