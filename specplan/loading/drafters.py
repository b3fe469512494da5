"""From a drafter's name to what makes the drafter for given sampling settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ngram.drafters.lookup import PromptLookupDrafter
from ngram.drafters.lookup_then_ngram import LookupThenNgram
from ngram.drafters.matches import LONGEST
from ngram.drafters.ngram_drafter import NgramDrafter
from ngram.formats.cache import load_model as load_ngram
from ngram.formats.description import require_tokenizer
from ngram.formats.embedded import embedded_model, require_embedded_tokenizer
from ngram.rows.rows import Rows
from ngram.rows.vocabulary import vocabulary_of
from reference.drafter import Drafter
from reference.drafters.early_exit import early_exit
from reference.drafters.hierarchical import HierarchicalDrafter
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.random_drafter import RandomDrafter
from reference.drafters.trees import TreeDrafter, without_replacement
from reference.laws.sampling import Sampling
from reference.models.cached_model import CachedModel
from reference.models.embedded import weights_folder
from reference.models.huggingface import (
    load_model,
    load_tokenizer,
    require_same_kind,
    require_same_tokenizer,
)
from reference.models.tree_mask import require_branching
from specplan.loading.heads import heads_drafter
from specplan.options.drafter_names import DrafterName
from specplan.options.model_options import ModelOptions

EMBEDDED = "embedded"
DrafterOf = Callable[[Sampling], Drafter]


def target_source(name: str) -> str:
    """Returns what to load a target or its tokenizer from; `embedded` stands for its folder."""
    return str(weights_folder("target")) if name == EMBEDDED else name


def require_tokenizer_of_target(
    name: DrafterName, tokenizer: Any, options: ModelOptions, *, target_name: str
) -> None:
    """Refuses a drafter of another tokenizer than the target's, before any weights are read.

    Args:
      name: of the drafter.
      tokenizer: the target's.
      options: how to load a tokenizer, and whether to take an n-gram model as it is.
      target_name: for the message.

    Raises:
      ValueError: naming both.
      OSError: if an n-gram model cannot be read.
    """
    if name.kind == "hf":
        draft = str(name.value)
        require_same_tokenizer(
            tokenizer,
            load_tokenizer(draft, trust_remote_code=options.trust_remote_code),
            target_name=target_name,
            draft_name=draft,
        )
    if name.kind == EMBEDDED and target_name != EMBEDDED:
        raise ValueError(f"draft embedded needs the embedded target, got {target_name}")
    if name.kind == "ngram" and name.value is None:
        require_embedded_tokenizer(tokenizer, name=target_name)
    elif name.kind == "ngram":
        path = Path(str(name.value))
        if not path.is_file():
            raise ValueError(f"draft ngram:FILE must be an existing file, got {path}")
        if not options.force:
            require_tokenizer(path, tokenizer, name=target_name)
    if name.kind == "heads" and name.value is None and target_name != EMBEDDED:
        raise ValueError(
            f"draft heads needs the embedded target, got {target_name}; train its own with: "
            "specplan heads train"
        )
    for further in (name.otherwise, name.rescored_by, name.via):
        if further is not None:
            require_tokenizer_of_target(further, tokenizer, options, target_name=target_name)


def load_drafter(
    name: DrafterName,
    target: CachedModel,
    tokenizer: Any,
    options: ModelOptions,
    *,
    passes: Callable[[CachedModel], CachedModel] = lambda draft: draft,
) -> DrafterOf:
    """Returns what makes the named drafter for given sampling settings.

    Args:
      name: of the drafter.
      target: loaded.
      tokenizer: the target's.
      options: how to load a model.
      passes: gives a draft model the passes that it is to run with.

    Raises:
      ValueError: if there is no such drafter for this target.
    """
    match name.kind:
        case "random":
            return lambda sampling: RandomDrafter(target.vocabulary, target.device)
        case "ngram":
            return _ngram(name, target, tokenizer)
        case "lookup" if name.otherwise is not None:
            otherwise = _ngram(name.otherwise, target, tokenizer)
            return lambda sampling: LookupThenNgram(_lookup(name, target), otherwise(sampling))
        case "lookup":
            return lambda sampling: _lookup(name, target)
        case "heads":
            return _heads(name, target, tokenizer, options)
        case "exit":
            draft = early_exit(target, int(str(name.value)))
        case _:
            draft = _draft_model(name, target, options)
    draft = passes(draft)

    def alone(sampling: Sampling) -> ModelDrafter:
        return ModelDrafter(draft, sampling, target.vocabulary)

    if name.tree is not None:
        parents = name.tree
        for model in (target, draft):
            require_branching(model)
        return lambda sampling: TreeDrafter(alone(sampling), parents, without_replacement)
    if name.via is None:
        return alone
    inner = load_drafter(name.via, target, tokenizer, options, passes=passes)
    return lambda sampling: HierarchicalDrafter(
        alone(sampling), inner(sampling), name.via_gamma
    )


def _heads(
    name: DrafterName, target: CachedModel, tokenizer: Any, options: ModelOptions
) -> DrafterOf:
    by = name.rescored_by
    ngram = by is not None and by.kind == "ngram"
    return heads_drafter(
        name,
        target,
        rows=_rows(by, target, tokenizer) if by is not None and ngram else None,
        model=_draft_model(by, target, options) if by is not None and not ngram else None,
        k=options.lattice_k,
        weight=options.rescoring_weight,
    )


def _draft_model(name: DrafterName, target: CachedModel, options: ModelOptions) -> CachedModel:
    embedded = name.kind == EMBEDDED
    draft = load_model(
        str(weights_folder("draft")) if embedded else str(name.value),
        device=target.device,
        dtype=options.dtype,
        trust_remote_code=options.trust_remote_code,
    )
    if embedded:
        draft.name = EMBEDDED
    require_same_kind(target, draft)
    return draft


def _lookup(name: DrafterName, target: CachedModel) -> PromptLookupDrafter:
    longest = LONGEST if name.number is None else name.number
    return PromptLookupDrafter(device=target.device, longest=longest)


def load_rows(
    name: DrafterName, target: CachedModel, tokenizer: Any, options: ModelOptions
) -> Rows:
    """Returns an n-gram that rescores, as wide as the target's rows.

    Raises:
      ValueError: if it is of another tokenizer.
    """
    require_tokenizer_of_target(name, tokenizer, options, target_name=target.name)
    return _rows(name, target, tokenizer)


def load_rescorer(
    name: DrafterName, target: CachedModel, tokenizer: Any, options: ModelOptions
) -> CachedModel:
    """Returns a small model that rescores.

    Raises:
      ValueError: if it is no model, or of another tokenizer.
    """
    if name.kind not in (EMBEDDED, "hf"):
        raise ValueError(f"neural must name a model, got {name.kind}")
    require_tokenizer_of_target(name, tokenizer, options, target_name=target.name)
    return _draft_model(name, target, options)


def _rows(name: DrafterName, target: CachedModel, tokenizer: Any) -> Rows:
    model = embedded_model() if name.value is None else load_ngram(Path(name.value))
    return Rows(model, vocabulary_of(tokenizer), width=target.vocabulary)


def _ngram(
    name: DrafterName, target: CachedModel, tokenizer: Any
) -> Callable[[Sampling], NgramDrafter]:
    rows = _rows(name, target, tokenizer)
    shown = "ngram" if name.value is None else f"ngram:{name.value}"
    return lambda sampling: NgramDrafter(rows, sampling, device=target.device, name=shown)
