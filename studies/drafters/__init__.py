"""The kinds of drafters that studies add, one file each."""
