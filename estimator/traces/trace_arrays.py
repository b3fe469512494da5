"""Traces of several texts as a few arrays, however many texts there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.traces.traces import DRAFT_SAMPLINGS, DraftSampling, Trace, TracePair

LAYOUT = "specplan traces 2"
Arrays = dict[str, NDArray[Any]]


def pack(traces: Mapping[int, TracePair], key: str) -> Arrays:
    """Returns arrays that hold traces one after the other.

    Args:
      traces: by the prompt's index, at least one; all of one drafter and the same leniences.
      key: identifies models, settings and prompts.
    """
    pairs = list(traces.values())
    leniences = list(pairs[0].sampled.alpha_by_lenience)
    arrays: Arrays = {
        "layout": np.array(LAYOUT),
        "key": np.array(key),
        "prompts": np.array(list(traces)),
        "tokens": np.array([pair.sampled.tokens for pair in pairs]),
        "limits": np.array([pair.sampled.limit for pair in pairs]),
        "leniences": np.array(leniences, dtype=np.float64),
    }
    drafted = [pair.sampled.drafted for pair in pairs if pair.sampled.drafted is not None]
    if drafted:
        arrays["drafted"] = np.concatenate(drafted)
    for way in DRAFT_SAMPLINGS:
        of_way = [pair.under(way) for pair in pairs]
        arrays[f"{way}_beta"] = np.concatenate([trace.beta for trace in of_way])
        arrays[f"{way}_ratio"] = np.concatenate([trace.ratio for trace in of_way])
        ranks = [trace.rank for trace in of_way if trace.rank is not None]
        if len(ranks) == len(of_way):
            arrays[f"{way}_rank"] = np.concatenate(ranks)
        arrays[f"{way}_lenient_alpha"] = np.array(
            [[trace.alpha_by_lenience[lenience] for lenience in leniences] for trace in of_way]
        )
    return arrays


def unpack(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, dict[int, TracePair]]:
    """Returns the key and the traces, by the prompt's index, of such arrays.

    Raises:
      ValueError: if they are others.
    """
    if "layout" not in arrays or str(arrays["layout"]) != LAYOUT:
        raise ValueError(f"arrays must be of the layout '{LAYOUT}', got others")
    ends = np.cumsum(arrays["tokens"])
    ways = [_traces(arrays, way, ends.tolist()) for way in DRAFT_SAMPLINGS]
    pairs = [TracePair(*both) for both in zip(*ways, strict=True)]
    return str(arrays["key"]), dict(zip(arrays["prompts"].tolist(), pairs, strict=True))


def _traces(
    arrays: Mapping[str, NDArray[Any]], way: DraftSampling, ends: Sequence[int]
) -> list[Trace]:
    leniences = arrays["leniences"].tolist()
    traces = []
    for text, (first, last) in enumerate(zip([0, *ends], ends, strict=False)):
        here = slice(first, last)
        traces.append(
            Trace(
                beta=arrays[f"{way}_beta"][here],
                ratio=arrays[f"{way}_ratio"][here],
                drafted=arrays["drafted"][here] if "drafted" in arrays else None,
                limit=int(arrays["limits"][text]),
                alpha_by_lenience=dict(
                    zip(leniences, arrays[f"{way}_lenient_alpha"][text].tolist(), strict=True)
                ),
                rank=arrays[f"{way}_rank"][here] if f"{way}_rank" in arrays else None,
            )
        )
    return traces
