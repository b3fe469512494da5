"""The analyses of Kim et al. 2024 (blockwise drafts), sections 6 and 7, for any model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from msgspec import structs

from estimator.draft_names.kind import LoadContext, ModelKind
from estimator.draft_names.ngram import Ngram
from estimator.intervals import ratio_interval
from estimator.loading.pairs import LoadedPair, load
from estimator.progress import SILENT, Progress, notice
from reference.models.embedded import EMBEDDED
from reference.models.model import Model
from reference.models.text_tree import require_branching
from simulator.numerics.intervals import CONFIDENCE
from studies.blockwise.best_paths import Automaton, require_arcs
from studies.blockwise.draft_names.heads import lattice_k
from studies.blockwise.heads import HeadsDrafter
from studies.blockwise.measures import (
    BIN,
    Counts,
    accepted,
    by_head,
    calls_of,
    correlation,
    entropies,
    h_max,
    oracle,
    repetition,
    tuned,
    wins,
)
from studies.blockwise.records import Analysis, TunedWeight, Way
from studies.blockwise.request import AnalyseHeads
from studies.blockwise.texts import BlockText, Drafts, block_text, local_drafts, path_drafts

WEIGHTS = (0.1, 0.5, 0.75, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 10.0)  # their appendix E
PARALLEL = (1, 2, 4, 8, 16)
HEADS = (3, 6, 9)


def analyse_heads(request: AnalyseHeads, progress: Progress = SILENT) -> Analysis:
    """Returns repetition, entropy by head, and block efficiency of each drafting method."""
    drafts = request.drafts
    k = lattice_k(request.models.lattice_k)
    # The heads' own drafts read neither a lattice nor an n-gram file; the rescorers here do.
    plain = replace(request.models, drafts=drafts, lattice_k=None, force=False)
    loaded = load(plain, request.text)
    drafter = loaded.drafters[drafts[0]](request.sampling.at(0.0))
    assert isinstance(drafter, HeadsDrafter)  # plain heads
    require_arcs(k, loaded.target.vocabulary)
    ngrams, neural = _rescorers(request, loaded)
    if len(loaded.prompts) < 2:
        raise ValueError("an analysis needs at least 2 prompts, one of them to tune on, got 1")
    progress.expect(len(loaded.prompts))
    texts = []
    for prompt in loaded.prompts:
        text = block_text(loaded.target, drafter, prompt, stopping=loaded.stopping, k=k)
        texts += [] if text is None else [text]
        progress.step()
    if len(texts) < 2:
        raise ValueError("an analysis needs at least 2 texts of 2 tokens or more, got fewer")
    ended = len(loaded.prompts) - len(texts)
    if ended:
        notice(f"{ended} texts ended with their first token and cannot be analysed")
    count = min(max(round(request.tuning_share * len(texts)), 1), len(texts) - 1)
    tuning, analysed = texts[:count], texts[count:]
    return analyse(tuning, analysed, ngrams=ngrams, neural=neural, k=k, step=progress.step)


def _rescorers(
    request: AnalyseHeads, loaded: LoadedPair
) -> tuple[dict[str, Automaton], Model | None]:
    """Returns the n-gram rescorers by name, and the neural rescorer (None if there is none)."""
    embedded = request.models.target in (None, EMBEDDED)
    context = LoadContext(loaded.target, loaded.tokenizer, request.models)
    target, tokenizer = loaded.target, loaded.tokenizer
    files: tuple[str | None, ...] = request.ngrams or ((None,) if embedded else ())
    automata: dict[str, Automaton] = {}
    for ngram in map(Ngram, files):
        ngram.require(target.name, tokenizer=tokenizer, settings=request.models)
        rows = ngram.rows(tokenizer, width=target.vocabulary)
        order = f"{rows.model.order}-gram"
        automata[order if order not in automata else f"{order} {ngram.file}"] = Automaton(rows)
    rescorer = request.rescorer
    if rescorer is None:
        return automata, None
    assert isinstance(rescorer, ModelKind)  # the request refuses others
    rescorer.require(target.name, tokenizer=tokenizer, settings=request.models)
    model = rescorer.model(context)
    require_branching(model)
    return automata, model


def analyse(
    tuning: Sequence[BlockText],
    texts: Sequence[BlockText],
    *,
    ngrams: Mapping[str, Automaton],
    neural: Model | None,
    k: int,
    step: Callable[[], object] = lambda: None,
) -> Analysis:
    """Returns all analyses of Kim et al. 2024, with jackknife intervals over texts.

    tuning, texts: texts on which the rescorers' weights are chosen, and texts to analyse.
    ngrams: n-gram rescorers by name, for example "4-gram".
    neural: a small model that rescores, or None.
    k: number of tokens per head in a lattice, at least 1.
    step: called after each part of the analysis, to show progress.
    """
    ahead = [text.ahead() for text in texts]

    def lengths_of(drafts: Sequence[Drafts]) -> list[Counts]:
        return [accepted(*pair) for pair in zip(drafts, ahead, strict=True)]

    def paths_of(automaton: Automaton | None, weight: float) -> list[Drafts]:
        many = partial(path_drafts, automaton=automaton, count=PARALLEL[-1])
        return [many(text, [weight])[0] for text in texts]

    base = [text.arcs[:, :, 0] for text in texts]
    base_lengths = lengths_of(base)
    base_calls, tokens = calls_of(base_lengths), np.array([len(text.tokens) for text in texts])

    def way(name: str, lengths: Sequence[Counts], **more: Any) -> Way:
        """Returns a method's block efficiency, and its change in % from the heads' own drafts."""
        calls = calls_of(lengths).tolist()
        low, high = ratio_interval(tokens.tolist(), calls)
        change = ratio_interval(base_calls.tolist(), calls)
        fewer, further = (None if end is None else 100 * (end - 1) for end in change)
        return Way(
            name=name,
            block_efficiency=int(tokens.sum()) / sum(calls),
            low=low,
            high=high,
            change_percent=100 * (int(base_calls.sum()) / sum(calls) - 1),
            change_low=fewer,
            change_high=further,
            **more,
        )

    tunings: dict[str, TunedWeight] = {}
    drafts: dict[str, list[Drafts]] = {"base": base}
    parallel = {"parallel base": paths_of(None, 0.0)}
    step()
    for name, automaton in ngrams.items():
        first_path = partial(path_drafts, automaton=automaton, count=1)
        tunings[name] = tuned(tuning, first_path, WEIGHTS)
        paths = paths_of(automaton, tunings[name].best_weight)
        drafts[name] = [of_text[:, 0] for of_text in paths]
        parallel[f"parallel {name}"] = paths
        step()
    if neural is not None:
        rescored = partial(local_drafts, model=neural)
        tunings["neural"] = tuned(tuning, rescored, WEIGHTS)
        best = tunings["neural"].best_weight
        drafts["neural"] = [rescored(text, [best])[0] for text in texts]
        step()
    single = {name: lengths_of(of_texts) for name, of_texts in drafts.items()}
    arcs = [text.arcs for text in texts]
    oracles = tuple(
        way(f"oracle k={n}", [oracle(*pair, n) for pair in zip(arcs, ahead, strict=True)], k=n)
        for n in range(1, k + 1)
    )
    step()
    heads, base_accepted = texts[0].steps + 1, np.concatenate(base_lengths)
    efficiency = tokens / base_calls
    rises = [h_max(text.entropy) for text in texts]
    return Analysis(
        confidence=CONFIDENCE,
        texts=len(texts),
        tokens=int(tokens.sum()),
        tuning_texts=len(tuning),
        heads=heads,
        k=k,
        variants=(
            *(way(name, single[name], **repetition(texts, of)) for name, of in drafts.items()),
            *(way(name, lengths_of(paths)) for name, paths in parallel.items()),
            structs.replace(oracles[-1], k=None),
        ),
        tuning=tunings,
        oracle=oracles,
        by_heads=tuple(
            way(str(count), [of.clip(max=count - 1) for of in base_lengths])
            for count in HEADS
            if count <= heads
        ),
        parallel=tuple(
            way(name, lengths_of([of_text[:, :p] for of_text in paths]), p=p)
            for name, paths in parallel.items()
            for p in PARALLEL
        ),
        acceptance_by_head=tuple(by_head(base_lengths, heads)),
        wins={
            name: wins(texts, base, of_texts, gain=np.concatenate(single[name]) - base_accepted)
            for name, of_texts in list(drafts.items())[1:]
        },
        entropy=entropies(texts),
        entropy_bin=BIN,
        h_max=h_max(np.concatenate([text.entropy for text in texts])),
        h_max_by_text=tuple(rises),
        block_efficiency_by_text=tuple(efficiency.tolist()),
        h_max_correlation=correlation(np.array(rises, float), efficiency),
    )
