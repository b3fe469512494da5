"""What blocks cost, in seconds and in operations."""
