"""How good texts are: against references, and in the large model's own eyes."""
