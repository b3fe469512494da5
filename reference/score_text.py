"""Scores a drafter along a whole text: how likely each token is accepted if it is drafted."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch

from reference.drafter import Drafter
from reference.laws import Laws, Sampling
from reference.models.model import Model, peaks, positions_of, require_finite, text_limit
from reference.scoring import ScoreOptions, Scores, Stretch

# Numbers in the rows of one stretch: a tensor of 32 MB, of which only a few exist at once.
ROW_NUMBERS = 1 << 23


@torch.inference_mode()
def score_text(
    target: Model,
    drafter: Drafter,
    prompt: Sequence[int],
    tokens: Sequence[int],
    options: ScoreOptions,
    *,
    sampling: Sampling,
) -> list[Scores]:
    """Returns the scores of all tokens of a text, for each sampling setting of the draft.

    Each model reads the text once, in as few parallel passes as memory allows (ROW_NUMBERS).

    tokens: the ids after the prompt, at least 1; the target sampled them under `sampling`.
    """
    text = target.start(prompt)
    require_scorable(target, text_limit(target, len(text)), len(text) + len(tokens) - 1)
    drafter.start(prompt, text)
    positions = max(ROW_NUMBERS // target.vocabulary, 1)
    parts: list[list[Scores]] = []
    for first in range(0, len(tokens), positions):
        before, here = [*text, *tokens[:first]], tokens[first : first + positions]
        [p] = text_laws(target, before, here, [sampling])
        parts.append(drafter.score(Stretch(before, here, p), options))
    return [_joined(of_one) for of_one in zip(*parts, strict=True)]


def _joined(parts: Sequence[Scores]) -> Scores:
    """Returns the scores of consecutive stretches, concatenated."""

    def joined(column: str) -> Any:
        rows = [getattr(part, column) for part in parts]
        return None if rows[0] is None else torch.cat(rows)

    return Scores(*(joined(each.name) for each in fields(Scores)))


def require_scorable(model: Model, limit: int | None, fed: int) -> None:
    """Refuses a text to score that exceeds the model's positions.

    limit: the model's position limit for this text (`text_limit`); None: no limit.
    fed: number of tokens to read: all of the text except the last.
    """
    if limit is not None and fed > limit:
        raise ValueError(
            f"a text to score must fit the {positions_of(model, limit)}, got {fed} tokens"
        )


def text_laws(
    model: Model, text: Sequence[int], tokens: Sequence[int], samplings: Sequence[Sampling]
) -> list[Laws]:
    """Returns a model's distributions at the positions of given tokens, per sampling setting.

    The model makes one pass. First, the cache drops the last id of `text` and all later ids.

    text: the ids before the tokens.
    tokens: ids, at least 1.
    """
    model.rollback(min(model.length, len(text) - 1))
    unseen = torch.tensor(text[model.length :], dtype=torch.int64, device=model.device)
    given = torch.tensor(tokens[:-1], dtype=torch.int64, device=model.device)
    logits = model.extend(torch.cat([unseen, given]))[-len(tokens) :]
    require_finite(peaks(logits).tolist(), model.name, len(text))
    return [sampling.laws(logits, text, [given]) for sampling in samplings]
