"""The embedded n-gram: a pruned trigram of the text that the embedded pair was trained on.

`scripts/train_embedded_ngram.py` makes it; `weights/training.json` says of what.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ngram.formats.description import fingerprint
from ngram.rows.backoff import BackoffModel, unpack

FOLDER = Path(__file__).parents[1] / "weights"


def embedded_model() -> BackoffModel:
    """Returns the embedded trigram."""
    with np.load(FOLDER / "trigram.npz", allow_pickle=False) as arrays:
        return unpack(arrays)


def require_embedded_tokenizer(tokenizer: Any, *, name: str) -> None:
    """Refuses a target whose ids are not the embedded tokenizer's.

    Args:
      tokenizer: of the target.
      name: of that target, for the message.

    Raises:
      ValueError: if it is another tokenizer.
    """
    note = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
    if note["fingerprint"] != fingerprint(tokenizer):
        raise ValueError(
            f"draft ngram is of the embedded tokenizer, got target {name} with another; "
            "train one with: specplan ngram train"
        )
