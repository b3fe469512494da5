"""The kinds of drafters, one file each: how a user names them, what they can do, how they load."""
