"""Studies of one paper each: BiLD, and blockwise drafts. The core does not import them."""
