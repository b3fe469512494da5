"""Analyses blockwise heads as `specplan heads analyse` requests (Kim et al. 2024)."""

from dataclasses import dataclass, field, replace

from estimator.draft_names.kind import EMBEDDED, LoadContext, ModelKind, parse_drafter
from estimator.draft_names.ngram import Ngram
from estimator.loading.pairs import LoadedPair, load
from estimator.progress import SILENT, Progress, notice
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings
from reference.models.model import Model
from reference.models.text_tree import require_branching
from studies.blockwise.analysis import analyse
from studies.blockwise.draft_names.heads import HeadsName, lattice_k
from studies.blockwise.drafter import HeadsDrafter
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.lattice.best_paths import require_arcs
from studies.blockwise.records import Analysis
from studies.blockwise.texts import BlockText, block_text


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyseHeads:
    """Settings of an analysis of heads' drafts on greedy texts of their target.

    ngrams: files of rescoring n-grams; empty: the embedded one, if the target is embedded.
    neural: a small rescoring model; None: the embedded one, if the target is embedded.
    tuning_share: share of the prompts on which the rescorers' weights are chosen, in (0, 1).
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    text: PromptSettings = field(default_factory=PromptSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    ngrams: tuple[str, ...] = ()
    neural: str | None = None
    tuning_share: float = 0.3


def analyse_heads(request: AnalyseHeads, progress: Progress = SILENT) -> Analysis:
    """Returns repetition, entropy by head, and block efficiency of each drafting method."""
    drafts = request.models.drafts or (HeadsName.prefix,)
    heads = parse_drafter(drafts[0])
    if len(drafts) > 1 or not isinstance(heads, HeadsName):
        raise ValueError(f"draft must be heads or heads:FOLDER, got {' '.join(drafts)}")
    if not heads.alone:
        raise ValueError(f"draft must be heads or heads:FOLDER without rescorer, got {drafts[0]}")
    k = lattice_k(request.models.lattice_k)
    # The heads' own drafts need no lattice; the rescorers here do.
    loaded = load(replace(request.models, drafts=drafts, lattice_k=None), request.text)
    drafter = loaded.drafters[drafts[0]](request.sampling.at(0.0))
    assert isinstance(drafter, HeadsDrafter)  # plain heads
    require_arcs(k, loaded.target.vocabulary)
    ngrams, neural = _rescorers(request, loaded)
    if len(loaded.prompts) < 2:
        raise ValueError("an analysis needs at least 2 prompts, one of them to tune on, got 1")
    progress.expect(len(loaded.prompts))
    texts = []
    for prompt in loaded.prompts:
        texts.append(block_text(loaded.target, drafter, prompt, stopping=loaded.stopping, k=k))
        progress.step()
    kept = _kept(texts)
    count = min(max(round(request.tuning_share * len(kept)), 1), len(kept) - 1)
    return analyse(
        kept[:count], kept[count:], ngrams=ngrams, neural=neural, k=k, step=progress.step
    )


def _rescorers(
    request: AnalyseHeads, loaded: LoadedPair
) -> tuple[dict[str, Automaton], Model | None]:
    """Returns the n-gram rescorers by name, and the neural one."""
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
    neural = EMBEDDED if request.neural is None and embedded else request.neural
    if neural is None:
        return automata, None
    rescorer = parse_drafter(neural)
    if not isinstance(rescorer, ModelKind) or not rescorer.rescores:
        raise ValueError(f"neural must name a model, got {neural}")
    rescorer.require(target.name, tokenizer=tokenizer, settings=request.models)
    model = rescorer.model(context)
    require_branching(model)
    return automata, model


def _kept(texts: list[BlockText | None]) -> list[BlockText]:
    kept = [text for text in texts if text is not None]
    if len(kept) < 2:
        raise ValueError("an analysis needs at least 2 texts of 2 tokens or more, got fewer")
    if len(kept) < len(texts):
        notice(
            f"{len(texts) - len(kept)} texts ended with their first token and cannot be analysed"
        )
    return kept
