"""Whether all prompts fit the models, asked before the first of many runs."""

from collections.abc import Sequence

from reference.drafters.hierarchical import draft_model
from reference.generation import opening_text, start
from reference.models.model import positions_of, text_limit
from reference.speculative import Subject


def require_positions(subject: Subject, prompts: Sequence[Sequence[int]]) -> None:
    """Refuses prompts that with max_new_tokens new ones exceed the positions of either model.

    Every prompt is asked about, as a longer one may lie beyond a length that a shorter one would
    cross; the longest is begun, so that a pair which does not go together is found out, too. The
    target's texts are scored in one pass, for which the draft needs room as well.

    Args:
      subject: the pair and its settings.
      prompts: ids, at least one prompt.

    Raises:
      ValueError: naming the model, its positions and the tokens.
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
        # A text's last token is never fed.
        if limit is not None and given + new_tokens - 1 > limit:
            raise ValueError(
                f"prompt and new tokens must fit the {positions_of(draft, limit, 'the draft ')}, "
                f"got {given} + {new_tokens} tokens"
            )
