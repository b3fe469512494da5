"""The analyses of Kim et al. 2024 (blockwise drafts), sections 6 and 7, for any model."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import structs

from estimator.intervals import ratio_interval
from reference.models.model import Model
from simulator.numerics.intervals import CONFIDENCE
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
from studies.blockwise.records import Analysis, TunedWeight, Way, Weighted
from studies.blockwise.texts import BlockText, Drafts, heads_drafts, local_drafts, path_drafts

WEIGHTS = (0.1, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 10.0)  # their appendix E
PARALLEL = (1, 2, 4, 8, 16)
HEADS = (3, 6, 9)


def calls_of(lengths: Sequence[Counts]) -> Counts:
    """Returns the target calls of each text from its blocks' accepted lengths, shape (texts,)."""
    return np.array([target_calls(of_text) for of_text in lengths])


def tokens_of(texts: Sequence[BlockText]) -> Counts:
    """Returns the number of tokens of each text, shape (texts,)."""
    return np.array([len(text.tokens) for text in texts])


def tuned(
    texts: Sequence[BlockText],
    drafts_of: Callable[[BlockText, Sequence[float]], Sequence[Drafts]],
    weights: Sequence[float] = WEIGHTS,
) -> TunedWeight:
    """Returns the block efficiency of each weight on the tuning texts, and the best weight."""
    lengths: list[list[Counts]] = [[] for _ in weights]
    for text in texts:
        ahead = text.ahead()
        for of_weight, drafts in zip(lengths, drafts_of(text, weights), strict=True):
            of_weight.append(accepted(drafts, ahead))
    rows = [
        Weighted(weight, int(tokens_of(texts).sum()) / int(calls_of(of_weight).sum()))
        for weight, of_weight in zip(weights, lengths, strict=True)
    ]
    return TunedWeight(best_weight(rows), tuple(rows))


def best_weight(rows: Sequence[Weighted]) -> float:
    """Returns the weight with the largest block efficiency; the smallest such weight."""
    return max(rows, key=lambda row: (row.block_efficiency, -row.weight)).weight


def way_of(name: str, tokens: Counts, *, calls: Counts, base: Counts) -> Way:
    """Returns the block efficiency of one drafting method, and its change over the heads' own.

    tokens, calls, base: tokens, calls and the heads' own calls of each text, shapes (texts,).
    """
    total = int(calls.sum())
    low, high = ratio_interval(tokens.tolist(), calls.tolist())
    ends = ratio_interval(base.tolist(), calls.tolist())
    return Way(
        name=name,
        block_efficiency=int(tokens.sum()) / total,
        low=low,
        high=high,
        change_percent=100 * (int(base.sum()) / total - 1),
        change_low=None if ends[0] is None else 100 * (ends[0] - 1),
        change_high=None if ends[1] is None else 100 * (ends[1] - 1),
    )


def analyse(
    tuning: Sequence[BlockText],
    texts: Sequence[BlockText],
    *,
    ngrams: Mapping[str, Automaton],
    neural: Model | None,
    k: int,
    step: Callable[[], object] = lambda: None,
) -> Analysis:
    """Returns every analysis; intervals are jackknife intervals over texts.

    Args:
      tuning, texts: the texts on which weights are chosen, and those that are analysed.
      ngrams: n-gram rescorers by name, for example "4-gram".
      neural: a small model that rescores, or None.
      k: tokens of each head in a lattice.
      step: called after each part.
    """
    ahead = [text.ahead() for text in texts]

    def lengths_of(drafts: Sequence[Drafts]) -> list[Counts]:
        return [accepted(*pair) for pair in zip(drafts, ahead, strict=True)]

    def paths_of(automaton: Automaton | None, weight: float) -> list[Drafts]:
        return [path_drafts(t, automaton, [weight], count=PARALLEL[-1])[0] for t in texts]

    base = [heads_drafts(text) for text in texts]
    base_lengths = lengths_of(base)
    base_calls, tokens = calls_of(base_lengths), tokens_of(texts)

    def way(name: str, lengths: Sequence[Counts]) -> Way:
        return way_of(name, tokens, calls=calls_of(lengths), base=base_calls)

    tunings: dict[str, TunedWeight] = {}
    drafts: dict[str, list[Drafts]] = {"base": base}
    parallel = {"parallel base": paths_of(None, 0.0)}
    step()
    for name, automaton in ngrams.items():
        tunings[name] = tuned(tuning, partial(_first_paths, automaton))
        paths = paths_of(automaton, tunings[name].best_weight)
        drafts[name] = [of_text[:, 0] for of_text in paths]
        parallel[f"parallel {name}"] = paths
        step()
    if neural is not None:
        tunings["neural"] = tuned(
            tuning, lambda text, weights: [local_drafts(text, neural, each) for each in weights]
        )
        best = tunings["neural"].best_weight
        drafts["neural"] = [local_drafts(text, neural, best) for text in texts]
        step()
    single = {name: lengths_of(of_texts) for name, of_texts in drafts.items()}
    arcs = [np.stack([lattice.tokens for lattice in text.lattices]) for text in texts]
    oracles = [
        way(f"oracle k={n}", [oracle(*pair, n) for pair in zip(arcs, ahead, strict=True)])
        for n in range(1, k + 1)
    ]
    step()
    heads = texts[0].lattices[0].steps + 1
    efficiency = tokens / base_calls
    rises = [h_max([text]) for text in texts]
    return Analysis(
        confidence=CONFIDENCE,
        texts=len(texts),
        tokens=int(tokens.sum()),
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
            for name, of_texts in list(drafts.items())[1:]
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


def _gain(lengths: Sequence[Counts], base: Sequence[Counts]) -> Counts:
    return np.asarray(np.concatenate(lengths) - np.concatenate(base))
