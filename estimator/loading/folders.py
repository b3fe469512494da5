"""A pair for engines that load models themselves: folders, and prompts as ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from estimator.draft_names.kind import EMBEDDED, parse_drafter
from estimator.loading.origins import target_source
from estimator.prompts.prompts import prompt_ids
from estimator.settings import PromptSettings
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer, require_same_tokenizer

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class FolderPair:
    """A pair and its prompts.

    target, draft: names or folders; a draft's folder also has the tokenizer's files.
    prompts: ids, at least two prompts.
    """

    target_name: str
    draft_name: str
    target: str
    draft: str
    prompts: tuple[tuple[int, ...], ...]


def folder_pair(
    target: str | None, drafts: Sequence[str], text: PromptSettings, folder: Path
) -> FolderPair:
    """Returns a pair without loading its models, and twice the requested number of prompts.

    target: embedded, a name or a folder; None: the embedded one.
    drafts: one model; empty: the embedded one, if the target is embedded.
    folder: folder for temporary files; it must exist as long as the pair is used.
    """
    target = EMBEDDED if target is None else target
    draft = _draft_name(target, drafts)
    source = target_source(target)
    loaded = _whole_embedded_draft(folder) if draft == EMBEDDED else draft
    tokenizer = load_tokenizer(source)
    require_same_tokenizer(tokenizer, load_tokenizer(loaded), target_name=target, draft_name=draft)
    twice = replace(text, num_prompts=2 * text.num_prompts)
    prompts = tuple(tuple(ids) for ids in prompt_ids(twice, tokenizer, target))
    if len(prompts) < 2:
        raise ValueError(
            "prompts must be at least 2 with --engine, since prices come from other ones than "
            f"those predicted, got {len(prompts)}"
        )
    return FolderPair(target, draft, source, loaded, prompts)


def _draft_name(target: str, drafts: Sequence[str]) -> str:
    if not drafts and target == EMBEDDED:
        return EMBEDDED
    if len(drafts) != 1:
        raise ValueError(f"draft must be given once with --engine, got {len(drafts)}")
    if parse_drafter(drafts[0]).served is None:
        raise ValueError(
            f"draft must be a model with --engine, got {drafts[0]}: its server drafts with no other"
        )
    draft = drafts[0].removeprefix("hf:")
    if draft == EMBEDDED and target != EMBEDDED:
        raise ValueError(f"draft embedded needs the embedded target, got {target}")
    return draft


def _whole_embedded_draft(folder: Path) -> str:
    """Returns a folder with the embedded draft and its tokenizer's files, for engines."""
    tokenizer = weights_folder("target")
    whole = folder / "draft"
    whole.mkdir()
    for path in [
        *weights_folder("draft").iterdir(), *(tokenizer / name for name in TOKENIZER_FILES)
    ]:  # fmt: skip
        (whole / path.name).symlink_to(path.resolve())
    return str(whole)
