"""Prompts and texts as users give them: files, named data sets, logs of outputs."""
