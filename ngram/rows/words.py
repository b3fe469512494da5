"""Words of a model: token ids, and the three that ARPA files know by name."""

# Negative, so that in a row of length tokens + 3 they index its last three places.
UNKNOWN = -3
BEGIN = -2
END = -1

NAMES = {UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>"}
MAX_ORDER = 6


def check_order(order: int) -> None:
    """Refuses orders that KenLM's programs are not built for.

    Raises:
      ValueError: if order is out of range.
    """
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"order must lie in [1, {MAX_ORDER}], got {order}")


def word_name(word: int) -> str:
    """Returns what an ARPA file calls a word."""
    return NAMES[word] if word < 0 else str(word)
