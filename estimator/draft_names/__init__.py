"""The kinds of drafters, one file each: their names, abilities and loading."""
