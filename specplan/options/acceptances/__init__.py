"""How often drafts stand, a file for each way to state it: its options, and what they make."""
