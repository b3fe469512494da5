"""vLLM: the user's own installation, started as its OpenAI server; prompts and texts are ids."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from engines.counting import Counts, counters
from engines.engine import Completion, Setting
from engines.kind import EngineSettings, Models
from engines.observing.vllm import TURNS_ON
from engines.servers.http import get_text, post_json
from engines.servers.process import free_port, serving
from engines.text_scores import TextScores

if TYPE_CHECKING:
    from openai import OpenAI

START_SECONDS = 600.0
METHOD = {"sampled": "probabilistic", "argmax": "greedy"}
# Further entries of a scored id: two, whose equal log-probabilities show a tie.
LIKELIEST = 2


@dataclass(frozen=True, slots=True)
class Vllm:
    """vLLM with a target and a draft model.

    target, draft: names or folders; a draft's folder needs the tokenizer's files, too.
    command: command that starts the OpenAI server with its flags, for example `vllm serve --dtype
      float32`; the model and the flags of speculation are appended.
    """

    target: str
    draft: str
    command: tuple[str, ...] = ("vllm", "serve")

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Vllm:
        """Returns vLLM with a pair, started by the user's command or by `vllm serve`."""
        command = settings.engine_command
        return cls(models.target, models.draft, words("vllm serve" if command is None else command))

    @property
    def flags(self) -> tuple[str, ...]:
        return self.command

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[VllmServer]:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        model = self.target if setting.model == "target" else self.draft
        positional = "serve" in self.command
        command = [
            *self.command,
            *([model] if positional else ["--model", model]),
            *("--host", "127.0.0.1", "--port", str(port), "--generation-config", "vllm"),
        ]
        if setting.gamma > 0:
            command += [TURNS_ON, json.dumps(self.speculative_config(setting))]
        with serving(command, url=url, name="vllm", start_seconds=START_SECONDS):
            yield VllmServer(url)

    def speculative_config(self, setting: Setting) -> dict[str, Any]:
        """Returns vLLM's JSON for a setting with a gamma above 0."""
        config: dict[str, Any] = {
            "method": "draft_model",
            "model": self.draft,
            "num_speculative_tokens": setting.gamma,
            "draft_sample_method": METHOD[setting.draft_sampling],
        }
        if setting.synthetic is not None:
            config["rejection_sample_method"] = "synthetic"
            config["synthetic_acceptance_rates"] = list(setting.synthetic)
        return config


def words(command: str) -> tuple[str, ...]:
    """Returns the words of a shell command.

    Raises ValueError if it has no words, or a quotation is not closed.
    """
    try:
        split = tuple(shlex.split(command))
    except ValueError as error:
        raise ValueError(f"engine-command must be a command, got {command!r}: {error}") from error
    if not split:
        raise ValueError("engine-command must be a command, got nothing")
    return split


class VllmServer:
    """A running vLLM server, started here or elsewhere."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self.version = str(json.loads(get_text(f"{self.url}/version"))["version"])
        self.model = str(json.loads(get_text(f"{self.url}/v1/models"))["data"][0]["id"])

    @cached_property
    def _client(self) -> OpenAI:
        # Its certificates take longer to read than a server's list of models.
        from openai import OpenAI

        return OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a text of ids; see `EngineServer`.

        The seed is not sent: vLLM would then use a generator for each request, a slower path than
        deployments use.
        """
        stream = self._request(
            prompt,
            max_tokens=max_new_tokens,
            temperature=temperature,
            stream=True,
            extra_body={"ignore_eos": True, "return_token_ids": True},
        )
        tokens: list[int] = []
        first, began, ended = 0, 0.0, 0.0
        for chunk in stream:
            choice = chunk.choices[0]
            if getattr(choice, "prompt_token_ids", None) is not None:
                _require_same_ids(prompt, choice.prompt_token_ids)
            ids = choice.token_ids
            if ids:
                ended = time.perf_counter()
                if not tokens:
                    first, began = len(ids), ended
                tokens += ids
        if len(tokens) != max_new_tokens:
            raise ValueError(
                f"vllm must write {max_new_tokens} tokens, got {len(tokens)}: its --max-model-len "
                "leaves no room"
            )
        return Completion(tuple(tokens), first, ended - began)

    def counts(self) -> Counts:
        return counters(get_text(f"{self.url}/metrics"), prefix="vllm", turns_on=TURNS_ON)

    def score(self, prompt: Sequence[int], tokens: Sequence[int]) -> TextScores:
        """Returns the served model's scores of a text at temperature 1."""
        ids = [*prompt, *tokens]
        answer = self._request(
            ids,
            max_tokens=1,
            temperature=0,
            extra_body={"prompt_logprobs": LIKELIEST, "return_token_ids": True},
        )
        choice = answer.choices[0]
        _require_same_ids(ids, choice.prompt_token_ids)
        rows = choice.prompt_logprobs[len(prompt) :]
        return TextScores.of(
            [row[str(token)]["logprob"] for row, token in zip(rows, tokens, strict=True)],
            [_rank(row, token) for row, token in zip(rows, tokens, strict=True)],
        )

    def tokens_of(self, text: str) -> list[int]:
        return list(
            post_json(f"{self.url}/tokenize", {"model": self.model, "prompt": text})["tokens"]
        )

    def _request(self, prompt: Sequence[int], **settings: Any) -> Any:
        from openai import APIConnectionError, APIStatusError

        try:
            return self._client.completions.create(
                model=self.model, prompt=list(prompt), **settings
            )
        except APIStatusError as error:
            raise ValueError(f"vllm must take the request, got: {error.message}") from error
        except APIConnectionError as error:
            raise ConnectionError(f"no server answers at {self.url}: {error}") from error


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
