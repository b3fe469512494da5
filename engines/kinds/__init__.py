"""What specplan knows of each kind of engine: one file each, which registers itself."""
