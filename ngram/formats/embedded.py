"""The embedded n-gram: a pruned trigram, trained on the text of the embedded pair.

`scripts/train_embedded_ngram.py` made it; `weights/training.json` describes the text.
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
    """Refuses a target that does not use the embedded tokenizer.

    Args:
      tokenizer: the target's tokenizer.
      name: the target's name, for the message.

    Raises:
      ValueError: if the tokenizers differ.
    """
    note = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
    if note["fingerprint"] != fingerprint(tokenizer):
        raise ValueError(
            f"draft ngram is of the embedded tokenizer, got target {name} with another; "
            "train one with: specplan ngram train"
        )
