"""Logs of texts that a server has written: read in parts, encoded, kept to draft from."""
