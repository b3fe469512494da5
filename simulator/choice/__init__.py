"""What each γ gains (Theorems 8 and 10) and which to choose."""
