"""The analyses of Kim et al. 2024 (blockwise drafts), sections 6 and 7, for any model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from estimator.intervals import ratio_interval
from reference.models.model import Model
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.measures import (
    BIN,
    Counts,
    accepted,
    by_head,
    correlation,
    entropies,
    h_max,
    oracle,
    repetition,
    target_calls,
    wins,
)
from studies.blockwise.records import Analysis, Tuning, Way, Weighted
from studies.blockwise.texts import BlockText, Drafts, heads_drafts, local_drafts, path_drafts

WEIGHTS = (0.1, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 10.0)  # their appendix E
PARALLEL = (1, 2, 4, 8, 16)
HEADS = (3, 6, 9)


@dataclass(frozen=True, slots=True)
class Rescorers:
    """The models that rescore lattices.

    ngrams: automata by name, for example "4-gram".
    neural: a small model, or None.
    """

    ngrams: Mapping[str, Automaton]
    neural: Model | None


@dataclass(frozen=True, slots=True)
class Calls:
    """Tokens and target calls of one drafting method, by text, shapes (texts,)."""

    tokens: NDArray[np.int64]
    calls: NDArray[np.int64]

    @property
    def block_efficiency(self) -> float:
        """Emitted tokens per target call, over all texts."""
        return int(self.tokens.sum()) / int(self.calls.sum())


def calls_of(texts: Sequence[BlockText], lengths: Sequence[Counts]) -> Calls:
    """Returns tokens and calls of texts from the accepted lengths of their blocks."""
    return Calls(
        np.array([len(text.tokens) for text in texts]),
        np.array([target_calls(of_text) for of_text in lengths]),
    )


def tuned(
    texts: Sequence[BlockText],
    drafts_of: Callable[[BlockText, Sequence[float]], Sequence[Drafts]],
    weights: Sequence[float] = WEIGHTS,
) -> Tuning:
    """Returns the block efficiency of each weight on the tuning texts, and the best weight."""
    lengths: list[list[Counts]] = [[] for _ in weights]
    for text in texts:
        ahead = text.ahead()
        for of_weight, drafts in zip(lengths, drafts_of(text, weights), strict=True):
            of_weight.append(accepted(drafts, ahead))
    rows = [
        Weighted(weight, calls_of(texts, of_weight).block_efficiency)
        for weight, of_weight in zip(weights, lengths, strict=True)
    ]
    return Tuning(best_weight(rows), tuple(rows))


def best_weight(rows: Sequence[Weighted]) -> float:
    """Returns the weight with the largest block efficiency; the smallest such weight."""
    return max(rows, key=lambda row: (row.block_efficiency, -row.weight)).weight


def way_of(name: str, calls: Calls, base: Calls) -> Way:
    """Returns the block efficiency of one drafting method, and its change over the heads' own."""
    low, high = ratio_interval(calls.tokens.tolist(), calls.calls.tolist())
    ends = ratio_interval(base.calls.tolist(), calls.calls.tolist())
    return Way(
        name=name,
        block_efficiency=calls.block_efficiency,
        low=low,
        high=high,
        change_percent=100 * (int(base.calls.sum()) / int(calls.calls.sum()) - 1),
        change_low=None if ends[0] is None else 100 * (ends[0] - 1),
        change_high=None if ends[1] is None else 100 * (ends[1] - 1),
    )


def analyse(
    tuning: Sequence[BlockText],
    texts: Sequence[BlockText],
    rescorers: Rescorers,
    *,
    k: int,
    step: Callable[[], object] = lambda: None,
) -> Analysis:
    """Returns every analysis; intervals are jackknife intervals over texts."""
    ahead = [text.ahead() for text in texts]

    def lengths_of(drafts: Sequence[Drafts]) -> list[Counts]:
        return [accepted(*pair) for pair in zip(drafts, ahead, strict=True)]

    def paths_of(automaton: Automaton | None, weight: float) -> list[Drafts]:
        return [path_drafts(t, automaton, [weight], count=PARALLEL[-1])[0] for t in texts]

    base = [heads_drafts(text) for text in texts]
    base_lengths = lengths_of(base)
    base_calls = calls_of(texts, base_lengths)

    def way(name: str, lengths: Sequence[Counts]) -> Way:
        return way_of(name, calls_of(texts, lengths), base_calls)

    tunings: dict[str, Tuning] = {}
    drafts: dict[str, list[Drafts]] = {"base": base}
    parallel = {"parallel base": paths_of(None, 0.0)}
    step()
    for name, automaton in rescorers.ngrams.items():
        tunings[name] = tuned(tuning, partial(_first_paths, automaton))
        paths = paths_of(automaton, tunings[name].best_weight)
        drafts[name] = [of_text[:, 0] for of_text in paths]
        parallel[f"parallel {name}"] = paths
        step()
    if rescorers.neural is not None:
        tunings["neural"] = tuned(tuning, partial(_rescored, rescorers.neural))
        best = tunings["neural"].best_weight
        drafts["neural"] = [local_drafts(text, rescorers.neural, best) for text in texts]
        step()
    single = {name: lengths_of(of_texts) for name, of_texts in drafts.items()}
    arcs = [np.stack([lattice.tokens for lattice in text.lattices]) for text in texts]
    oracles = [
        way(f"oracle k={n}", [oracle(*pair, n) for pair in zip(arcs, ahead, strict=True)])
        for n in range(1, k + 1)
    ]
    step()
    heads = texts[0].lattices[0].steps + 1
    efficiency = base_calls.tokens / base_calls.calls
    rises = [h_max([text]) for text in texts]
    return Analysis(
        texts=len(texts),
        tokens=int(base_calls.tokens.sum()),
        tuning_texts=len(tuning),
        heads=heads,
        k=k,
        variants=(
            *(
                structs.replace(way(name, single[name]), **repetition(texts, of_texts))
                for name, of_texts in drafts.items()
            ),
            *(way(name, lengths_of(paths)) for name, paths in parallel.items()),
            oracles[-1],
        ),
        tuning=tunings,
        oracle=tuple(structs.replace(of_k, k=n) for n, of_k in enumerate(oracles, start=1)),
        by_heads=tuple(
            way(str(count), [of.clip(max=count - 1) for of in base_lengths])
            for count in HEADS
            if count <= heads
        ),
        parallel=tuple(
            structs.replace(way(name, lengths_of([of_text[:, :p] for of_text in paths])), p=p)
            for name, paths in parallel.items()
            for p in PARALLEL
        ),
        acceptance_by_head=tuple(by_head(base_lengths, texts)),
        wins={
            name: wins(texts, base, of_texts, gain=_gain(single[name], base_lengths))
            for name, of_texts in drafts.items()
            if name != "base"
        },
        entropy=entropies(texts),
        entropy_bin=BIN,
        h_max=h_max(texts),
        h_max_by_text=tuple(rises),
        block_efficiency_by_text=tuple(efficiency.tolist()),
        h_max_correlation=correlation(np.array(rises, float), efficiency),
    )


def _first_paths(
    automaton: Automaton, text: BlockText, weights: Sequence[float]
) -> Sequence[Drafts]:
    """Returns the drafts of n-gram rescoring with p = 1, one array per weight."""
    return path_drafts(text, automaton, weights, count=1)


def _rescored(model: Model, text: BlockText, weights: Sequence[float]) -> Sequence[Drafts]:
    return [local_drafts(text, model, weight) for weight in weights]


def _gain(lengths: Sequence[Counts], base: Sequence[Counts]) -> Counts:
    return np.asarray(np.concatenate(lengths) - np.concatenate(base))
