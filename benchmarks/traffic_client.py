"""Requests that are sent to a server, and when each of their tokens came."""

import http.client
import json
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from engines.engine import Server


@dataclass(frozen=True)
class Answer:
    """A request: when it was sent and when each of its tokens came, in seconds."""

    sent: float
    tokens: tuple[float, ...]

    @property
    def first(self) -> float:
        """Seconds to the first token."""
        return self.tokens[0] - self.sent

    @property
    def token(self) -> float:
        """Seconds between two tokens on average."""
        return (self.tokens[-1] - self.tokens[0]) / (len(self.tokens) - 1)


class Client:
    """Sends requests to a server of one γ, each with the next of the prompts."""

    def __init__(
        self, server: Server, gamma: int, prompts: list[list[int]], tokens: int
    ) -> None:
        self.server, self.gamma, self.prompts, self.tokens = server, gamma, prompts, tokens
        self.asked = 0

    def arriving(self, starts: NDArray[np.float64]) -> list[Answer]:
        """Returns the answers of requests that are sent at these seconds, in that order."""
        answers: dict[int, Answer] = {}
        threads = [
            threading.Thread(target=lambda n=n: answers.update({n: self._ask()}))
            for n in range(len(starts))
        ]
        begin = time.perf_counter()
        for start, thread in zip(starts, threads, strict=True):
            time.sleep(max(0.0, begin + start - time.perf_counter()))
            thread.start()
        for thread in threads:
            thread.join()
        return [answers[n] for n in range(len(starts))]

    def in_turn(self, clients: int, seconds: float) -> list[Answer]:
        """Returns the answers of so many clients that each ask again when they are answered."""
        answers: list[Answer] = []
        end = time.perf_counter() + seconds

        def work() -> None:
            while time.perf_counter() < end:
                answers.append(self._ask())

        threads = [threading.Thread(target=work) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def _ask(self) -> Answer:
        """Returns an answer that was streamed, the times of a step's tokens being the same."""
        prompt = self.prompts[self.asked % len(self.prompts)]
        self.asked += 1
        place = urlsplit(self.server.url)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=600)
        path, body = _question(self.server.model, prompt, self.tokens)
        sent, times = time.perf_counter(), []
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        for line in connection.getresponse():
            if line.startswith(b"data: {"):
                now = time.perf_counter()
                times += [now] * len(_ids(json.loads(line[6:])))
        connection.close()
        # llama.cpp sends no event for a token that ends within a character.
        places = np.linspace(0, len(times) - 1, self.tokens).round().astype(int)
        return Answer(sent, tuple(times[place] for place in places))


def _question(model: str | None, prompt: list[int], tokens: int) -> tuple[str, dict[str, Any]]:
    """Returns path and body of a request: vLLM names its model, llama.cpp does not."""
    body = {"prompt": prompt, "temperature": 0.0, "ignore_eos": True, "stream": True}
    if model is None:
        own = {"n_predict": tokens, "cache_prompt": False, "return_tokens": True}
        return "/completion", body | own
    own = {"model": model, "max_tokens": tokens, "return_token_ids": True}
    return "/v1/completions", body | own


def _ids(event: dict[str, Any]) -> list[int]:
    """Returns the tokens that an event of the stream brings."""
    if "choices" in event:
        return [each for choice in event["choices"] for each in choice["token_ids"] or []]
    return [] if event.get("stop") else event["tokens"]
