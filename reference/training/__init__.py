"""Training: the one loop, its checkpoints and optimisers, and what draft models learn from."""
