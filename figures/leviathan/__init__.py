"""Figures and tables of Leviathan et al. 2023."""
