"""A server that speaks as vLLM's does, of a model that this process loads; with faults to order."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from engines.text_scores import load_causal
from tests.engines.web_server import web_server

# The change that each fault makes to an answer.
FAULTS = ("retokenised", "nan", "refused")


@cache
def model(folder: str) -> Any:
    """Returns a model that all servers of its folder share."""
    return load_causal(folder)


def scores(module: Any, prompt: list[int], likeliest: int, *, nan: bool) -> list[Any]:
    """Returns entries as vLLM makes them (`gather_logprobs` and `logprobs.py` of 0.32)."""
    told: list[Any] = [None]
    with torch.inference_mode():
        rows = torch.log_softmax(module(torch.tensor([prompt])).logits[0].double(), dim=-1)
    for token, row in zip(prompt[1:], rows, strict=False):
        top = torch.topk(row, likeliest)
        ids = [token, *top.indices.tolist()]
        logs = [float(row[token]), *top.values.tolist()]
        ranks = [int((row >= row[token]).sum()), *range(1, likeliest + 1)]
        entries = zip(ids, logs, ranks, strict=True)
        told.append(
            {
                str(name): {"logprob": float("nan") if nan else log, "rank": rank}
                for name, log, rank in entries
            }
        )
    return told


@contextmanager
def vllm_server(folder: str, *, name: str, fault: str | None = None) -> Iterator[str]:
    """Serves a model without a draft, and yields the server's URL."""
    module = model(folder)

    def choice(body: dict[str, Any]) -> dict[str, Any]:
        prompt, likeliest, tokens = body["prompt"], body.get("prompt_logprobs"), []
        if likeliest is None:
            sampled = {"do_sample": True, "temperature": body["temperature"], "top_k": 0}
            ids = module.generate(
                torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.int64),
                max_new_tokens=body["max_tokens"],
                eos_token_id=None,
                pad_token_id=0,
                **({"do_sample": False} if body["temperature"] == 0 else sampled),
            )
            tokens = ids[0, len(prompt) :].tolist()
        found = likeliest and scores(module, prompt, likeliest, nan=fault == "nan")
        return {
            "index": 0, "text": "", "finish_reason": None, "token_ids": tokens,
            "prompt_token_ids": prompt[::-1] if fault == "retokenised" else prompt,
            "prompt_logprobs": found,
        }  # fmt: skip

    def answer(_: str, body: dict[str, Any]) -> tuple[int, str]:
        if fault == "refused" and body.get("prompt_logprobs") is not None:
            message = "Requested prompt logprobs of 2, which is greater than max allowed: 1"
            return 400, json.dumps({"message": message, "code": 400})
        whole = {"id": "0", "object": "text_completion", "created": 0, "model": name}
        made = choice(body)
        if not body.get("stream"):
            return 200, json.dumps({**whole, "choices": [made]})
        # A chunk for each token.
        choices = [{**made, "token_ids": [token]} for token in made["token_ids"]]
        chunks = [json.dumps({**whole, "choices": [each]}) for each in choices]
        return 200, "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])

    pages = {
        "/health": "",
        # A page of a server that does not speculate.
        "/metrics": "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 0\n",
        "/version": json.dumps({"version": "0.0-test"}),
        "/v1/models": json.dumps({"object": "list", "data": [{"id": name}]}),
    }
    with web_server(pages, answer) as url:
        yield url
