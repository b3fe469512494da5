"""What engines count of their drafts, and rates of it with their intervals."""
