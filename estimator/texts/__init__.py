"""What drafts that copy would gain on texts that a server has already written, without a model."""
