"""Pairs in GGUF files: compares their tokenizers, and has llama.cpp tokenise the prompts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engines.engine import Setting
from engines.kind import EngineSettings, Models
from engines.servers.http import post_json
from engines.servers.llama_cpp import LlamaCpp, LlamaCppServer
from estimator.loading.folders import FolderPair, pair_prompts
from estimator.model_shapes.gguf_header import read_header
from estimator.model_shapes.gguf_names import gguf_file, named_gguf
from estimator.settings import PromptSettings
from reference.models.embedded import EMBEDDED

# Fields in which two tokenizers must agree, and by how many tokens their lists may differ in length
# (llama.cpp, common/speculative.cpp). Other pairs it drafts for by way of text.
SHARED = tuple(f"tokenizer.ggml.{name}" for name in ("model", "pre", "add_bos_token"))
TOKENS, MOST_FURTHER = "tokenizer.ggml.tokens", 128
# Positions of a server that tokenises and decodes nothing.
POSITIONS = 64


def gguf_pair(
    target: str | None, drafts: Sequence[str], text: PromptSettings, settings: EngineSettings
) -> FolderPair | None:
    """Returns a pair in GGUF files with its prompts, see `folder_pair`; None for other names.

    Prompts are texts, which llama.cpp tokenises. Refuses a pair of different tokenizers, and a GGUF
    file together with another model.
    """
    if not any(map(named_gguf, (target, *drafts))):
        return None
    if len(drafts) != 1:
        raise ValueError(f"draft must be given once with `engine`, got {len(drafts)}")
    names = (EMBEDDED if target is None else target, drafts[0])
    for option, name in zip(("target", "draft"), names, strict=True):
        if not named_gguf(name):
            raise ValueError(
                f"target and draft must both be GGUF files if one is, got {option} {name}"
            )
    if settings.laws == "local":
        raise ValueError("laws must be engine with GGUF files, got local")
    files = [gguf_file(name) for name in names]
    template = _require_same_tokenizer(files, names)
    target_file, draft_file = map(str, files)
    models = Models(target_file, draft_file, files[0].parent, POSITIONS)
    # The template is the target's own; a text has the same tokens with both.
    setting = Setting(0, model="target" if text.chat else "draft")
    with LlamaCpp.of_models(models, settings).serve(setting) as server:
        prompts = pair_prompts(text, ServedTokenizer(server, template), names[0])
    return FolderPair(*names, target_file, draft_file, prompts, scored_by_engine=True)


def _require_same_tokenizer(files: Sequence[Path], names: Sequence[str]) -> str | None:
    """Refuses a pair with different tokenizers; returns the target's chat template."""
    target, draft = (read_header(file).fields for file in files)
    lists = [fields.get(TOKENS) or [] for fields in (target, draft)]
    lengths = [len(tokens) for tokens in lists]
    shared = min(lengths)
    if (
        max(lengths) - shared > MOST_FURTHER
        or lists[0][:shared] != lists[1][:shared]
        or any(target.get(name) != draft.get(name) for name in SHARED)
    ):
        raise ValueError(
            f"target and draft must share one tokenizer, got {names[0]} with {lengths[0]} tokens "
            f"and {names[1]} with {lengths[1]}"
        )
    return target.get("tokenizer.chat_template")


class ServedTokenizer:
    """The tokenizer of a model that llama.cpp serves, with the methods that prompts need."""

    def __init__(self, server: LlamaCppServer, chat_template: str | None) -> None:
        self._server, self.chat_template = server, chat_template

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": self._server.tokens_of(text)}

    def apply_chat_template(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, list[int]]:
        answer = post_json(f"{self._server.url}/apply-template", {"messages": messages})
        return self(answer["prompt"])
