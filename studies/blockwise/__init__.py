"""Blockwise parallel decoding (Kim et al. 2024): heads, drafts of them, costs and analyses."""
