"""vLLM: the user's own installation, started as its OpenAI server; prompts and texts are ids."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from engines.counting import Counts
from engines.engine import Completion, Setting
from engines.observing.printed import MetricsPage
from engines.observing.vllm import TURNS_ON
from engines.servers.http import get_text, post_json, stream_json, streamed
from engines.servers.process import CommandPair, serving
from engines.text_scores import TextScores

METHOD = {"sampled": "probabilistic", "argmax": "greedy"}
# Further entries of a scored id: two, whose equal log-probabilities show a tie.
LIKELIEST = 2


class VllmServer:
    """A running vLLM server, started here or elsewhere."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self.version = str(json.loads(get_text(f"{self.url}/version"))["version"])
        self.model = str(json.loads(get_text(f"{self.url}/v1/models"))["data"][0]["id"])

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns the completion of a prompt of token ids; see `EngineServer`.

        The seed is not sent. With a seed, vLLM uses a generator for each request, which is slower
        than what deployments use.
        """
        body = self._body(
            prompt, max_tokens=max_new_tokens, temperature=temperature, stream=True, ignore_eos=True
        )

        def parts() -> Iterator[list[int]]:
            for chunk in stream_json(f"{self.url}/v1/completions", body, engine="vllm"):
                [choice] = chunk["choices"]
                if choice.get("prompt_token_ids") is not None:
                    _require_same_ids(prompt, choice["prompt_token_ids"])
                yield choice["token_ids"]

        return streamed("vllm", parts(), max_new_tokens, "--max-model-len")

    def counts(self) -> Counts:
        return MetricsPage(get_text(f"{self.url}/metrics"), "vllm:").counts(TURNS_ON)

    def score(self, prompt: Sequence[int], tokens: Sequence[int]) -> TextScores:
        """Returns the served model's scores of a text at temperature 1."""
        ids = [*prompt, *tokens]
        body = self._body(ids, max_tokens=1, temperature=0, prompt_logprobs=LIKELIEST)
        [choice] = post_json(f"{self.url}/v1/completions", body, engine="vllm")["choices"]
        _require_same_ids(ids, choice["prompt_token_ids"])
        rows = list(zip(choice["prompt_logprobs"][len(prompt) :], tokens, strict=True))
        logprobs = [row[str(token)]["logprob"] for row, token in rows]
        return TextScores.of(logprobs, [_rank(row, token) for row, token in rows])

    def tokens_of(self, text: str) -> list[int]:
        body = {"model": self.model, "prompt": text}
        return list(post_json(f"{self.url}/tokenize", body)["tokens"])

    def _body(self, prompt: Sequence[int], **settings: object) -> dict[str, Any]:
        body = {"model": self.model, "prompt": list(prompt), "return_token_ids": True}
        return body | settings


class Vllm(CommandPair):
    """vLLM with a target and a draft model; a draft's folder needs the tokenizer's files, too."""

    name, program = "vllm", "vllm serve"

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[VllmServer]:
        model = self.target if setting.model == "target" else self.draft
        named = [model] if "serve" in self.command else ["--model", model]
        flags = [*self.command, *named, "--generation-config", "vllm"]
        if setting.gamma > 0:
            config: dict[str, Any] = {
                "method": "draft_model",
                "model": self.draft,
                "num_speculative_tokens": setting.gamma,
                "draft_sample_method": METHOD[setting.draft_sampling],
            }
            if setting.synthetic is not None:
                config["rejection_sample_method"] = "synthetic"
                config["synthetic_acceptance_rates"] = list(setting.synthetic)
            flags += [TURNS_ON, json.dumps(config)]
        with serving(flags, name=self.name) as (url, _):
            yield VllmServer(url)


def _require_same_ids(sent: Sequence[int], decoded: Sequence[int]) -> None:
    if list(sent) != list(decoded):
        raise ValueError(
            "the server must decode the ids that it is sent, "
            f"got {len(decoded)} others for {len(sent)}"
        )


def _rank(row: Mapping[str, Mapping[str, float]], token: int) -> int:
    """Returns an id's rank in the distribution, 1 for vLLM's argmax; ties go to the smaller id."""
    # vLLM's rank counts the ids that are at least as likely, so in a tie no id is the first
    # (`vllm/v1/sample/ops/logprobs.py`), but is overwritten for those listed as the likeliest.
    _, first = min((-entry["logprob"], int(name)) for name, entry in row.items())
    return 1 if token == first else max(2, int(row[str(token)]["rank"]))
