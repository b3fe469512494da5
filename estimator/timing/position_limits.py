"""Checks, before the first of many runs, that all prompts fit the models."""

from collections.abc import Sequence

from reference.drafters.hierarchical import draft_model
from reference.generation import opening_text, start
from reference.models.model import positions_of, text_limit
from reference.speculative import Subject


def require_positions(subject: Subject, prompts: Sequence[Sequence[int]]) -> None:
    """Refuses prompts that exceed the positions of either model after max_new_tokens tokens.

    Every prompt is checked, because a shorter one may cross the RoPE switch length while a longer
    one lies beyond it. The longest prompt is read, so that a pair that does not fit together is
    found. The draft scores the target's texts in one pass and needs positions for that, too.

    Args:
      subject: the pair and its settings.
      prompts: ids, at least one prompt.
    """
    for prompt in prompts:
        opening_text(subject.target, prompt, subject.stopping)
    start(subject.target, subject.drafter, max(prompts, key=len), subject.stopping)
    draft = draft_model(subject.drafter)
    if draft is None:
        return
    new_tokens = subject.stopping.max_new_tokens
    for given in (len(draft.beginning(prompt)) for prompt in prompts):
        limit = text_limit(draft, given)
        # The last token of a text is never read.
        if limit is not None and given + new_tokens - 1 > limit:
            raise ValueError(
                f"prompt and new tokens must fit the {positions_of(draft, limit, 'the draft ')}, "
                f"got {given} + {new_tokens} tokens"
            )
