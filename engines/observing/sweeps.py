"""Runs of a server from a sweep: `vllm bench sweep serve` adds its settings to each result."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from engines.observing.observation import Observation
from engines.observing.profiles import observed_run
from engines.observing.vllm import read_bench
from reference.files import read_json
from simulator.cost.fitted.runs import Run


def sweep_runs(path: Path, *, context: int) -> tuple[Run, ...] | None:
    """Returns a run for each draft length and batch size of a sweep; None if it is no sweep.

    path: a `summary.json`, the folder of an experiment with one for each combination, or the
      experiment's `summary.csv`.
    context: tokens in each sequence's cache.
    """
    files = sorted(path.glob("*/summary.json")) if path.is_dir() else [path]
    documents = [_table(file) if file.suffix == ".csv" else read_json(file) for file in files]
    if path.is_dir() and not files:
        raise ValueError(f"{path} must have */summary.json of vllm bench sweep serve, got none")
    if not all(isinstance(document, list) and document for document in documents):
        return None
    records = [record for document in documents for record in document]
    if not all(isinstance(record, dict) and "run_number" in record for record in records):
        return None
    return _runs(records, context)


def _table(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a `summary.csv`, whose empty cells are left out.

    Lists are in JSON. A column with an empty cell has its counts as 200.0.
    """

    def value(cell: str) -> Any:
        try:
            read = json.loads(cell)
        except ValueError:
            return cell
        return int(read) if isinstance(read, float) and read.is_integer() else read

    with path.open(newline="", encoding="utf-8") as text:
        return [
            {key: value(cell) for key, cell in row.items() if key and cell}
            for row in csv.DictReader(text)
        ]


def _runs(records: Iterable[Mapping[str, Any]], context: int) -> tuple[Run, ...]:
    groups = defaultdict[tuple[int, int | None, bool], list[Observation]](list)
    for record in records:
        # vLLM reports no counts if nothing was drafted, for example by a schedule with 0.
        counts = "spec_decode_num_drafts" in record
        seen = _exact(read_bench(record, None if counts else 0))
        if seen.timed is None:
            raise ValueError(f"run {record['run_number']} must have mean_tpot_ms, got none")
        has_draft = not counts and any("speculative" in name for name in record)
        groups[seen.gamma if counts else 0, seen.timed.batch, has_draft].append(seen)
    runs = (
        (key, observed_run(reduce(add, group), context=context)) for key, group in groups.items()
    )
    return tuple(
        replace(run, speculating=speculating)
        for (_, _, speculating), run in runs
        if run is not None
    )


def _exact(seen: Observation) -> Observation:
    """Returns counts at the draft length of a schedule, which may be less than the longest one."""
    drafts = seen.drafts if seen.drafting is None else seen.drafting
    if drafts == 0 or seen.drafted % drafts > 0:
        return seen
    gamma = seen.drafted // drafts
    return replace(seen, stated_gamma=gamma, by_position=seen.by_position[:gamma])
