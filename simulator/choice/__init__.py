"""The speed-up of each draft length (Theorems 8 and 10), and the advised draft length."""
