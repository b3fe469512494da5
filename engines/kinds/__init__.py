"""The kinds of engines that specplan knows: one file for each."""
