"""How a server comes to run and is spoken to: processes, requests, model files."""
