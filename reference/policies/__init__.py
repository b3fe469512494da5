"""When to stop drafting."""
