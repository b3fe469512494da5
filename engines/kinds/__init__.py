"""The kinds of engines that specplan knows: one file each, which registers itself."""
