"""From options to loaded models, drafters and prompts."""
