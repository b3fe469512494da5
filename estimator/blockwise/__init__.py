"""Analyses of blockwise drafts along the target's own texts: repetition, entropy, rescoring."""
