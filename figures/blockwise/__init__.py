"""Tables of Kim et al. 2024 (blockwise drafts)."""
