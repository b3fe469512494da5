"""Decodes one text: speculatively, without a draft, or by beam search."""
