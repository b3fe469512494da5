"""Prompt lookup: draft what followed the last words when they stood in the text before.

The drafter that "copies tokens from the context" of Leviathan et al. 2023, section 3.6.
"""

import torch

from ngram.drafters.copying import CopyingDrafter
from ngram.drafters.matches import LONGEST, MOST, Matches


class PromptLookupDrafter(CopyingDrafter):
    """Copies what followed the most recent match of the text's last N..1 tokens."""

    def __init__(self, *, device: torch.device, longest: int = LONGEST) -> None:
        """Makes the drafter.

        Args:
          device: the target's.
          longest: N, how many tokens a match may have; longer matches go first.

        Raises:
          ValueError: if longest is not in [1, MOST].
        """
        if not 1 <= longest <= MOST:
            raise ValueError(f"a lookup must match 1 to {MOST} tokens, got {longest}")
        name = "lookup" if longest == LONGEST else f"lookup:{longest}"
        super().__init__(lambda: Matches(longest), name=name, device=device)
