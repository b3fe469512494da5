"""Blockwise parallel decoding (Kim et al. 2024): heads, drafts of them, costs and analyses."""

# The file of a folder of heads that describes them, and what is said where it is missing.
DESCRIPTION = "heads.json"
HEADS_FOLDER = "heads must be a folder that specplan heads train wrote"
