"""A back-off model as named arrays, for files of them."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ngram.rows.backoff import BackoffModel, Level


def pack(model: BackoffModel) -> dict[str, NDArray[Any]]:
    """Returns the model's arrays by name."""
    arrays: dict[str, NDArray[Any]] = {"number": model.number}
    for order, level in enumerate(model.levels, start=1):
        arrays[f"words_{order}"] = level.words
        arrays[f"log_probability_{order}"] = level.log_probability
        arrays[f"log_backoff_{order}"] = level.log_backoff
        arrays[f"first_{order}"] = level.first
    return arrays


def unpack(arrays: Mapping[str, NDArray[Any]]) -> BackoffModel:
    """Returns the model of such arrays.

    Raises:
      KeyError: if one is missing.
    """
    orders = sum(name.startswith("words_") for name in arrays)
    levels = tuple(
        Level(
            words=arrays[f"words_{order}"],
            log_probability=arrays[f"log_probability_{order}"],
            log_backoff=arrays[f"log_backoff_{order}"],
            first=arrays[f"first_{order}"],
        )
        for order in range(1, orders + 1)
    )
    return BackoffModel(levels, arrays["number"])
