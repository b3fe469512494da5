"""Whether all prompts fit the models, asked before the first of many runs."""

from collections.abc import Sequence

from estimator.draft_model import draft_model
from estimator.runs.arms import Subject
from reference.generation import begin


def require_room(subject: Subject, prompts: Sequence[Sequence[int]]) -> None:
    """Refuses prompts that with max_new_tokens new ones exceed the positions of either model.

    The longest prompt is begun: if that fits, all do, and a pair that does not go together is
    found out, too. The target's texts are scored in one pass, for which the draft needs room as
    well.

    Args:
      subject: the pair and its settings.
      prompts: ids, at least one prompt.

    Raises:
      ValueError: naming the model, its positions and the tokens.
    """
    longest = max(prompts, key=len)
    text, _ = begin(subject.target, subject.drafter, longest, subject.stopping)
    draft = draft_model(subject.drafter)
    new_tokens = subject.stopping.max_new_tokens
    # A text's last token is never fed.
    if (
        draft is not None
        and draft.max_length is not None
        and len(text) + new_tokens - 1 > draft.max_length
    ):
        raise ValueError(
            f"prompt and new tokens must fit the {draft.max_length} positions of the draft "
            f"{draft.name}, got {len(text)} + {new_tokens} tokens"
        )
