"""What users type: options, names and ranges."""
