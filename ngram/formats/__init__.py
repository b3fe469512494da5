"""ARPA files and what stands beside them: read, written, cached, described."""
