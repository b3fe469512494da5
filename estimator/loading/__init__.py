"""From settings to loaded models, drafters and prompts."""
