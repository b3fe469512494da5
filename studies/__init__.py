"""Studies of one paper each, built on the core and unknown to it: BiLD, and blockwise drafts."""
