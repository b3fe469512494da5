"""Server processes, HTTP requests, and model files for engines."""
