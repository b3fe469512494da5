"""Where drafts that copy would stand along recorded texts, for all positions at once."""
