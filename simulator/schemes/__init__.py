"""Other ways to draft and verify: BiLD, blockwise heads, hierarchies."""
