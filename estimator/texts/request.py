"""What a user asks of a measurement from recorded texts alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.settings import MAX_GAMMA


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureTexts:
    """Acceptance of a draft that copies, along recorded texts.

    texts: the log: JSON lines or Parquet, with a prompt and an output each, text or ids.
    drafts: one drafter whose drafts texts alone tell.
    tokenizer: of what wrote the texts: embedded, a Hugging Face name or a folder; None: the log
      has ids, and they are not checked.
    force: take an n-gram model though its tokenizer is not known to be that one.
    max_gamma: the longest draft.
    skip_bad_lines: leave out lines that cannot be read; else the first one ends it.
    processes: that share the log; None: as many as there are cores.
    output: the file for the profile; None: none, and nothing is kept of an interrupted run.

    Raises:
      ValueError: if there is not one drafter, or a number is out of range.
    """

    texts: Path
    drafts: tuple[str, ...] = ()
    tokenizer: str | None = None
    force: bool = False
    max_gamma: int = MAX_GAMMA
    skip_bad_lines: bool = False
    processes: int | None = None
    output: Path | None = None

    def __post_init__(self) -> None:
        if len(self.drafts) != 1:
            raise ValueError(f"draft must be given once with texts, got {len(self.drafts)}")

    @property
    def draft(self) -> str:
        return self.drafts[0]
