"""Figures of Kim et al. 2023 (BiLD)."""
