"""The analyses of Kim et al. 2024 (blockwise drafts), sections 6 and 7, on models of one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import ratio_interval
from reference.models.model import Model
from studies.blockwise.drafts import Drafts, heads_drafts, local_drafts, path_drafts
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.measures import Counts, accepted, oracle, target_calls
from studies.blockwise.tables import by_head, entropy, repetition, wins
from studies.blockwise.texts import BlockText

WEIGHTS = (0.1, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 10.0)   # their appendix E
PARALLEL = (1, 2, 4, 8, 16)
HEADS = (3, 6, 9)


@dataclass(frozen=True, slots=True)
class Rescorers:
    """What rescores lattices.

    ngrams: automata by name, "4-gram".
    neural: a small model; None: none.
    """

    ngrams: Mapping[str, Automaton]
    neural: Model | None


@dataclass(frozen=True, slots=True)
class Calls:
    """Tokens and target calls of one way to draft, by text, shapes (texts,)."""

    tokens: NDArray[np.int64]
    calls: NDArray[np.int64]

    @property
    def block_efficiency(self) -> float:
        """Emitted tokens per target call, over all texts."""
        return int(self.tokens.sum()) / int(self.calls.sum())


def calls_of(texts: Sequence[BlockText], lengths: Sequence[Counts]) -> Calls:
    """Returns tokens and calls of texts whose blocks stand so far."""
    return Calls(
        np.array([len(text.tokens) for text in texts]),
        np.array([target_calls(of_text) for of_text in lengths]),
    )


def tuned(
    texts: Sequence[BlockText],
    drafts_of: Callable[[BlockText, Sequence[float]], Sequence[Drafts]],
    weights: Sequence[float] = WEIGHTS,
) -> list[dict[str, float]]:
    """Returns the block efficiency of each weight, on texts kept for tuning.

    Args:
      texts: kept.
      drafts_of: a text's drafts with each of some weights.
      weights: that are tried.
    """
    lengths: list[list[Counts]] = [[] for _ in weights]
    for text in texts:
        ahead = text.ahead()
        for of_weight, drafts in zip(lengths, drafts_of(text, weights), strict=True):
            of_weight.append(accepted(drafts, ahead))
    return [
        {"weight": weight, "block_efficiency": calls_of(texts, of_weight).block_efficiency}
        for weight, of_weight in zip(weights, lengths, strict=True)
    ]


def best_weight(rows: Sequence[Mapping[str, float]]) -> float:
    """Returns the weight of the largest block efficiency, the smallest such."""
    return max(rows, key=lambda row: (row["block_efficiency"], -row["weight"]))["weight"]


def analyse(
    tuning: Sequence[BlockText],
    texts: Sequence[BlockText],
    rescorers: Rescorers,
    *,
    k: int,
    step: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """Returns every analysis as JSON knows it; intervals leave out texts in turn.

    Args:
      tuning: texts on which the rescorers' weights are chosen.
      texts: others, on which all else is measured.
      rescorers: of the lattices.
      k: arcs of the lattices that are rescored.
      step: called after each way to draft.
    """
    ahead = [text.ahead() for text in texts]
    base = [heads_drafts(text) for text in texts]
    base_lengths = [accepted(*pair) for pair in zip(base, ahead, strict=True)]
    base_calls = calls_of(texts, base_lengths)
    tuning_rows: dict[str, list[dict[str, float]]] = {}
    drafts: dict[str, list[Drafts]] = {"base": base}
    parallel: dict[str, list[Drafts]] = {
        "parallel base": [path_drafts(t, None, [0.0], count=PARALLEL[-1])[0] for t in texts]
    }
    step()
    for name, automaton in rescorers.ngrams.items():
        tuning_rows[name] = tuned(tuning, _first_path(automaton))
        weight = best_weight(tuning_rows[name])
        paths = [path_drafts(t, automaton, [weight], count=PARALLEL[-1])[0] for t in texts]
        drafts[name] = [of_text[:, 0] for of_text in paths]
        parallel[f"parallel {name}"] = paths
        step()
    if rescorers.neural is not None:
        model = rescorers.neural
        tuning_rows["neural"] = tuned(tuning, _local(model))
        weight = best_weight(tuning_rows["neural"])
        drafts["neural"] = [local_drafts(t, model, weight) for t in texts]
        step()

    def row(name: str, calls: Calls) -> dict[str, Any]:
        low, high = ratio_interval(calls.tokens.tolist(), calls.calls.tolist())
        fewer = int(base_calls.calls.sum()) / int(calls.calls.sum())
        ends = ratio_interval(base_calls.calls.tolist(), calls.calls.tolist())
        return {
            "name": name,
            "block_efficiency": calls.block_efficiency,
            "low": low,
            "high": high,
            "change_percent": 100 * (fewer - 1),
            "change_low": None if ends[0] is None else 100 * (ends[0] - 1),
            "change_high": None if ends[1] is None else 100 * (ends[1] - 1),
        }

    def lengths_of(of_texts: Sequence[Drafts]) -> list[Counts]:
        return [accepted(*pair) for pair in zip(of_texts, ahead, strict=True)]

    variants = []
    for name, of_texts in drafts.items():
        variants.append(
            row(name, calls_of(texts, lengths_of(of_texts))) | repetition(texts, of_texts)
        )
    for name, paths in parallel.items():
        variants.append(row(name, calls_of(texts, lengths_of(paths))))
    tokens = [np.stack([lattice.tokens for lattice in text.lattices]) for text in texts]
    oracles = [
        calls_of(texts, [oracle(t, a, arcs) for t, a in zip(tokens, ahead, strict=True)])
        for arcs in range(1, k + 1)
    ]
    variants.append(row(f"oracle k={k}", oracles[-1]))
    step()
    return {
        "texts": len(texts),
        "tokens": int(base_calls.tokens.sum()),
        "tuning_texts": len(tuning),
        "heads": texts[0].lattices[0].steps + 1,
        "k": k,
        "variants": variants,
        "tuning": {
            name: {"best_weight": best_weight(rows), "rows": rows}
            for name, rows in tuning_rows.items()
        },
        "oracle": [
            {"k": arcs} | row(f"oracle k={arcs}", calls)
            for arcs, calls in enumerate(oracles, start=1)
        ],
        "by_heads": [
            row(str(heads), calls_of(texts, [of.clip(max=heads - 1) for of in base_lengths]))
            for heads in HEADS
            if heads <= texts[0].lattices[0].steps + 1
        ],
        "parallel": [
            {"p": p}
            | row(name, calls_of(texts, lengths_of([of_text[:, :p] for of_text in paths])))
            for name, paths in parallel.items()
            for p in PARALLEL
        ],
        "acceptance_by_head": by_head(base_lengths, texts),
        "wins": {
            name: wins(texts, base, of_texts, lengths_of(of_texts), base_lengths)
            for name, of_texts in drafts.items()
            if name != "base"
        },
        **entropy(texts, base_calls.tokens / base_calls.calls),
    }


def _first_path(
    automaton: Automaton,
) -> Callable[[BlockText, Sequence[float]], Sequence[Drafts]]:
    """Returns n-gram rescoring, p = 1, as a function of text and weights."""
    return lambda text, weights: path_drafts(text, automaton, weights, count=1)


def _local(model: Model) -> Callable[[BlockText, Sequence[float]], Sequence[Drafts]]:
    """Returns local rescoring as a function of text and weights."""
    return lambda text, weights: [local_drafts(text, model, weight) for weight in weights]
