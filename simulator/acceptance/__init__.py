"""How often drafts are accepted: Eq. 1, replay, laws of β, lenience, servers' numbers."""
