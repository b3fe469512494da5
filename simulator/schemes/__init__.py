"""Other ways to draft and verify, each an acceptance or a cost: trees, hierarchies, beam search."""
