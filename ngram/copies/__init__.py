"""How much of copied drafts is accepted along recorded texts, for all positions at once."""
