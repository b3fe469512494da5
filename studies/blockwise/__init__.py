"""Blockwise parallel decoding (Kim et al. 2024): heads, drafts of them, costs and analyses."""

# The file that describes the heads in a folder, and the message if a folder lacks it.
DESCRIPTION = "heads.json"
HEADS_FOLDER = "heads must be a folder that specplan heads train wrote"
