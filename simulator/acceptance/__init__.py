"""How often drafted tokens are accepted: Eq. 1, replay of texts, servers' counts, lenience."""
