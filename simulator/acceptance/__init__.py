"""How often drafts stand: Eq. 1, replay, laws of β, lenience, servers' numbers."""
