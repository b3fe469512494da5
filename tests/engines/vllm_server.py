"""A server that speaks as vLLM's does, of a model that this process loads; with faults to order."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import torch

from engines.text_scores import load_causal

# The change that each fault makes to an answer.
FAULTS = ("retokenised", "nan", "refused")


@cache
def model(folder: str) -> Any:
    """Returns a model that all servers of its folder share."""
    return load_causal(folder)


class Served:
    """A model, what it is called, and the fault of its server."""

    def __init__(self, folder: str, name: str, fault: str | None) -> None:
        self.model = model(folder)
        self.name = name
        self.fault = fault

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Returns a completion's choice, of ids."""
        prompt = body["prompt"]
        tokens = []
        likeliest = body.get("prompt_logprobs")
        if likeliest is None:
            sampled = {"do_sample": True, "temperature": body["temperature"], "top_k": 0}
            ids = self.model.generate(
                torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.int64),
                max_new_tokens=body["max_tokens"],
                eos_token_id=None,
                pad_token_id=0,
                **({"do_sample": False} if body["temperature"] == 0 else sampled),
            )
            tokens = ids[0, len(prompt) :].tolist()
        told = prompt[::-1] if self.fault == "retokenised" else prompt
        return {
            "index": 0,
            "text": "",
            "finish_reason": None,
            "token_ids": tokens,
            "prompt_token_ids": told,
            "prompt_logprobs": None if likeliest is None else self._scores(prompt, likeliest),
        }

    def _scores(self, prompt: list[int], likeliest: int) -> list[Any]:
        """Returns entries as vLLM makes them (`gather_logprobs` and `logprobs.py` of 0.32)."""
        told: list[Any] = [None]
        with torch.inference_mode():
            rows = torch.log_softmax(self.model(torch.tensor([prompt])).logits[0].double(), dim=-1)
        for token, row in zip(prompt[1:], rows, strict=False):
            top = torch.topk(row, likeliest)
            ids = [token, *top.indices.tolist()]
            logs = [float(row[token]), *top.values.tolist()]
            if self.fault == "nan":
                logs = [float("nan")] * len(logs)
            ranks = [int((row >= row[token]).sum()), *range(1, likeliest + 1)]
            told.append(
                {
                    str(name): {"logprob": log, "rank": rank, "decoded_token": ""}
                    for name, log, rank in zip(ids, logs, ranks, strict=True)
                }
            )
        return told


@contextmanager
def vllm_server(folder: str, *, name: str, fault: str | None = None) -> Iterator[str]:
    """Serves a model without a draft, and yields the server's URL."""
    served = Served(folder, name, fault)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages = {
                "/health": "",
                # A page of a server that does not speculate.
                "/metrics": "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 0\n",
                "/version": json.dumps({"version": "0.0-test"}),
                "/v1/models": json.dumps({"object": "list", "data": [{"id": served.name}]}),
            }
            self.reply(200 if self.path in pages else 404, pages.get(self.path, ""))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if served.fault == "refused" and body.get("prompt_logprobs") is not None:
                message = "Requested prompt logprobs of 2, which is greater than max allowed: 1"
                self.reply(400, json.dumps({"message": message, "code": 400}))
                return
            whole = {"id": "0", "object": "text_completion", "created": 0, "model": served.name}
            choice = served.answer(body)
            if body.get("stream"):
                # A chunk for each token.
                choices = [{**choice, "token_ids": [token]} for token in choice["token_ids"]]
                chunks = [json.dumps({**whole, "choices": [each]}) for each in choices]
                text = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])
                self.reply(200, text, kind="text/event-stream")
            else:
                self.reply(200, json.dumps({**whole, "choices": [choice]}))

        def reply(self, status: int, text: str, kind: str = "application/json") -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
