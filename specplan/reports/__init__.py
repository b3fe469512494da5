"""The output of commands: tables, JSON, flags for servers."""
