"""What commands print: tables, JSON, flags for servers."""
