"""Refuses models, prompts and sampling that cannot be used, before PyTorch is loaded."""

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from estimator.settings import ModelSettings, PromptSettings, SamplingSettings, TargetSettings

# Larger files of prompts take longer to read than PyTorch to load, and are read only once.
MOST_BYTES = 10_000_000
Record = TypeVar("Record")


def refuse_early(stated: Mapping[str, Any]) -> None:
    """Raises ValueError for options of a run that no model, tokenizer or device could make valid.

    stated: the values of a command's options, by name.

    Nothing is checked for recorded texts, which need no model, nor if there are several processes,
    because these must refuse together.
    """
    if os.environ.get("WORLD_SIZE", "1") != "1" or stated.get("texts") is not None:
        return
    from estimator.draft_names.kind import walk
    from estimator.draft_names.suitable import named_drafters, require_placeable, require_read
    from reference.models.embedded import EMBEDDED, target_source
    from reference.models.folders import require_folder, require_positions
    from reference.sampling_ranges import require_sampling

    sampling = _of(SamplingSettings, stated)
    temperatures = stated.get("temperatures") or (stated.get("temperature") or 0.0,)
    for temperature in temperatures:
        require_sampling(temperature=temperature, **asdict(sampling))
    if stated.get("draft_temperature") is not None:
        try:
            require_sampling(temperature=stated["draft_temperature"])
        except ValueError as error:
            raise ValueError(f"draft_{error}") from error
    text = _of(PromptSettings, stated)
    _refuse_prompts(text, stated.get("prompt"))
    drafting = "drafts" in stated and stated.get("decoder") != "autoregressive"
    models = _of(ModelSettings if drafting else TargetSettings, stated)
    if stated.get("engine") is None and stated.get("server") is None:
        target = models.target or EMBEDDED
        if target != EMBEDDED:
            require_folder(target)
        require_positions(target_source(target), text.max_new_tokens, target)
        for part in (part for drafter in named_drafters(models).values() for part in walk(drafter)):
            part.require(target, tokenizer=None, settings=_of(ModelSettings, stated))
        # An analysis of heads reads their lattices itself.
        if isinstance(models, ModelSettings) and "tuning_share" not in stated:
            require_read(models)
        require_placeable(models, compiling=stated.get("compiling", "off"))


def _refuse_prompts(text: PromptSettings, prompt: str | None) -> None:
    from estimator.progress import heard
    from estimator.prompts.prompts import require_dataset, wanted_prompts

    source = text.prompts
    large = isinstance(source, str) and os.path.isfile(source)
    large = large and os.path.getsize(str(source)) > MOST_BYTES
    if prompt is None and source is None and text.dataset is not None:
        require_dataset(text.dataset)
        return
    if large:
        return
    with heard(lambda *_: None):  # the run's own reading gives the notices
        wanted_prompts(text, prompt)


def _of(record: type[Record], stated: Mapping[str, Any]) -> Record:
    """Returns a record of the options that it reads and that have a value."""
    names = (part.name for part in fields(record))  # type: ignore[arg-type]
    return record(**{name: stated[name] for name in names if stated.get(name) is not None})
