"""The gain of each γ (Theorems 8 and 10), and the one to choose."""
