"""The gain of copying drafts on texts that a server has already written, without a model."""
