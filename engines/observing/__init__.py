"""What running deployments print of their drafts, whatever they print it in: read, and judged."""
