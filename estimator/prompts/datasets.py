"""Reads prompts from public data sets on the Hugging Face hub."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from estimator.prompts.files import Prompt, prompt_of
from reference.models.hub import quiet, require_hub


def read_dataset(
    name: str, *, configuration: str | None, split: str | None, count: int
) -> list[Prompt]:
    """Returns the first prompts of a data set; rows are read by `prompt_of`.

    Args:
      name: name on the hub, or a folder of files that `datasets` can load (JSON lines, Parquet,
        CSV, ...).
      configuration: name of a configuration of the data set; None: its only or default one.
      split: name of a split; None: the only one.
      count: greatest number of prompts, at least 1.
    """
    rows = _rows(name, configuration, split)
    if len(rows) == 0:
        raise ValueError(f"dataset must have at least one row, got none in {name}")
    chosen = range(min(count, len(rows)))
    return [prompt_of(rows[number], f"{name} row {number + 1}") for number in chosen]


def _rows(name: str, configuration: str | None, split: str | None) -> Any:
    from datasets import config, load_dataset
    from datasets.exceptions import DatasetsError

    kept = Path(config.HF_DATASETS_CACHE) / name.replace("/", "___")
    try:
        if not Path(name).exists() and not kept.exists():
            require_hub()
        with quiet(), _bars():
            found = load_dataset(name, configuration, split=split)
    except (DatasetsError, OSError, ValueError) as error:
        raise ValueError(f"dataset {name!r} could not be loaded: {error}") from error
    if split is not None:
        return found
    if len(found) > 1:
        raise ValueError(f"dataset-split must be one of {', '.join(found)} of {name}, got none")
    [rows] = found.values()
    return rows


@contextmanager
def _bars() -> Iterator[None]:
    """Shows progress bars on a terminal."""
    from datasets.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if sys.stderr.isatty() or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
