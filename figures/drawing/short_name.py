"""What drawings call a draft."""

import re


def short_name(draft: str) -> str:
    """Returns a draft as drawings name it: files without their folders, ngram:m.arpa."""
    return re.sub(r"[^:+]*[/\\](?=[^/\\])", "", draft)
