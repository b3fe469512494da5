"""Settings of a measurement from recorded texts."""

from dataclasses import dataclass
from pathlib import Path

from estimator.settings import MAX_GAMMA


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureTexts:
    """Settings: acceptance of a copying draft along recorded texts.

    texts: the log: JSON lines or Parquet, with a prompt and an output each, text or ids.
    drafts: one drafter whose drafts depend only on texts.
    tokenizer: tokenizer of the model that wrote the texts: embedded, a Hugging Face name or a
      folder; None: the log has ids, which are not checked.
    force: accept an n-gram model whose tokenizer may differ from that one.
    max_gamma: longest draft.
    skip_bad_lines: whether bad lines are skipped; else the first one ends the measurement.
    processes: number of processes that share the log; None: one per core.
    output: file for the profile; None: no file, and an interrupted run saves nothing.
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
