"""Scores a drafter along a whole text that the target generated."""

from collections.abc import Sequence

import torch

from reference.drafter import Drafter
from reference.drafters.model_drafter import require_scorable, text_laws
from reference.laws.sampling import Sampling
from reference.laws.scoring import ScoreOptions, Scores, Stretch
from reference.models.model import Model, text_limit

# Numbers in the rows of one stretch; a tensor of them has 32 MB. Only a few such tensors exist at
# once, however long the text and wide the vocabulary.
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
    """Returns the scores of a text's N tokens under each sampling setting of the draft.

    Each model reads the text once, in as few parallel passes as ROW_NUMBERS allows.

    Args:
      tokens: the ids after the prompt, sampled from the target under `sampling`, at least 1.
    """
    text = target.start(prompt)
    require_scorable(target, text_limit(target, len(text)), len(text) + len(tokens) - 1)
    drafter.start(prompt, text)
    positions = max(ROW_NUMBERS // target.vocabulary, 1)
    parts: list[list[Scores]] = []
    for first in range(0, len(tokens), positions):
        before, here = [*text, *tokens[:first]], tokens[first : first + positions]
        [p] = text_laws(target, before, here, [sampling])
        stretch = Stretch(before, here, p)
        parts.append(drafter.score(stretch, options))
    return [_joined(of_one) for of_one in zip(*parts, strict=True)]


def _joined(parts: Sequence[Scores]) -> Scores:
    ranks = [part.rank for part in parts if part.rank is not None]
    sure = [part.confidence for part in parts if part.confidence is not None]
    lengths = [part.drafted for part in parts if part.drafted is not None]
    return Scores(
        beta=torch.cat([part.beta for part in parts]),
        ratio=torch.cat([part.ratio for part in parts]),
        drafted=torch.cat(lengths) if lengths else None,
        lenient_beta=torch.cat([part.lenient_beta for part in parts]),
        rank=torch.cat(ranks) if ranks else None,
        confidence=torch.cat(sure) if sure else None,
    )
