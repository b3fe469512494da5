"""Requests that are sent to llama.cpp's server, and when each of their tokens came."""

import http.client
import json
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from engines.servers.llama_cpp import LlamaCppServer


@dataclass(frozen=True)
class Answer:
    """A request: seconds at which each of its tokens came, since it was sent."""

    sent: float
    tokens: tuple[float, ...]

    @property
    def first(self) -> float:
        return self.tokens[0] - self.sent

    @property
    def token(self) -> float:
        return (self.tokens[-1] - self.tokens[0]) / (len(self.tokens) - 1)


def ask(server: LlamaCppServer, prompt: list[int], tokens: int) -> Answer:
    """Returns an answer that was streamed, token by token."""
    place = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=600)
    body = {
        "prompt": prompt, "n_predict": tokens, "temperature": 0.0, "ignore_eos": True,
        "cache_prompt": False, "stream": True,
    }  # fmt: skip
    sent = time.perf_counter()
    connection.request("POST", "/completion", json.dumps(body))
    times = [time.perf_counter() for line in connection.getresponse() if line.startswith(b"data:")]
    connection.close()
    # The last event ends the stream and carries no token of its own.
    return Answer(sent, tuple(times[:tokens]))


class Client:
    """Sends requests and keeps their answers."""

    def __init__(self, server: LlamaCppServer, prompts: list[list[int]], tokens: int) -> None:
        self.server, self.prompts, self.tokens = server, prompts, tokens
        self.asked = 0

    def together(self, starts: NDArray[np.float64]) -> list[Answer]:
        """Returns the answers of requests that are sent at these seconds, in that order."""
        answers: list[Answer | None] = [None] * len(starts)
        # What follows begins where this ends, so that all prompts are met alike.
        first, self.asked = self.asked, self.asked + len(starts)

        def send(number: int) -> None:
            prompt = self.prompts[(first + number) % len(self.prompts)]
            answers[number] = ask(self.server, prompt, self.tokens)

        threads = [threading.Thread(target=send, args=(n,)) for n in range(len(starts))]
        begin = time.perf_counter()
        for start, thread in zip(starts, threads, strict=True):
            time.sleep(max(0.0, begin + start - time.perf_counter()))
            thread.start()
        for thread in threads:
            thread.join()
        return [each for each in answers if each is not None]

    def saturated(self, at_once: int, seconds: float) -> float:
        """Returns requests a second, by their tokens, so many being there all the time."""
        came: list[float] = []
        begin = time.perf_counter()

        def work(number: int) -> None:
            while time.perf_counter() < begin + seconds:
                prompt = self.prompts[(number + len(came)) % len(self.prompts)]
                came.extend(ask(self.server, prompt, self.tokens).tokens)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        inside = sum(begin + seconds / 4 < at < begin + seconds for at in came)
        return inside / (0.75 * seconds) / self.tokens


def window(answers: list[Answer]) -> tuple[float, float]:
    """Returns seconds of all sequences and tokens that came, while all are being decoded."""
    start = max(each.tokens[0] for each in answers)
    end = min(each.tokens[-1] for each in answers)
    came = sum(start < at <= end for each in answers for at in each.tokens)
    return (end - start) * len(answers), came
