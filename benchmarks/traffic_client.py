"""Requests that are sent to a server, and when each of their tokens came, by the server's clock."""

import http.client
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from engines.engine import EngineServer


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


class Clock:
    """A server's clock in seconds, which does not advance while its processes are stopped."""

    def __init__(self, server: EngineServer) -> None:
        port = re.compile(rf"port\W+{urlsplit(server.url).port}\b".encode())
        commands = Path("/proc").glob("[0-9]*/cmdline")
        started = [int(line.parent.name) for line in commands if port.search(line.read_bytes())]
        # A server that was started here leads a group, which holds its workers, too.
        self.group = os.getpgid(started[0])
        # How long it ran, and since when it runs again, if it does.
        self.passed: tuple[float, float | None] = (0.0, time.perf_counter())
        self.runs = threading.Event()
        self.runs.set()

    def now(self) -> float:
        """Returns how long the server ran until now."""
        before, since = self.passed
        return before if since is None else before + time.perf_counter() - since

    def wait(self, until: float) -> None:
        """Returns when the server has run so long."""
        while (left := until - self.now()) > 0:
            self.runs.wait()
            time.sleep(left)

    def stop(self) -> None:
        """Stops the server where it is."""
        os.killpg(self.group, signal.SIGSTOP)
        self.passed = self.now(), None
        self.runs.clear()

    def go_on(self) -> None:
        """Lets it go on."""
        self.passed = self.now(), time.perf_counter()
        self.runs.set()
        os.killpg(self.group, signal.SIGCONT)


class Client:
    """Sends requests to a server of one γ, each with the next of the prompts."""

    def __init__(
        self, server: EngineServer, gamma: int, prompts: list[list[int]], tokens: int
    ) -> None:
        self.server, self.gamma, self.prompts, self.tokens = server, gamma, prompts, tokens
        self.clock = Clock(server)
        self.asked = 0

    def arriving(self, starts: NDArray[np.float64]) -> list[Answer]:
        """Returns the answers of requests that are sent at these seconds, in that order."""
        answers: dict[int, Answer] = {}
        begin = self.clock.now()

        def ask(number: int) -> None:
            self.clock.wait(begin + starts[number])
            answers[number] = self._ask(self.tokens)

        _all(ask, len(starts))
        return [answers[number] for number in range(len(starts))]

    def in_stairs(
        self, stairs: list[int], seconds: float, done: Callable[[], bool]
    ) -> list[Answer]:
        """Returns the answers of clients that ask again when they are answered, until all is done.

        stairs: how many clients there are, one number for so many seconds after the other. The
          first text of one that begins is of a random length, so that the prompts of some come
          between the steps of others.
        """
        answers: list[Answer] = []
        begin = self.clock.now()

        def work(number: int) -> None:
            lengths = np.random.default_rng(number)
            begins = True
            while not done():
                stair = int((self.clock.now() - begin) / seconds)
                if number < stairs[stair % len(stairs)]:
                    least = self.tokens // 4 if begins else self.tokens
                    answers.append(self._ask(int(lengths.integers(least, self.tokens + 1))))
                    begins = False
                else:
                    self.clock.wait(begin + (stair + 1) * seconds)
                    begins = True

        _all(work, max(stairs))
        return answers

    def _ask(self, tokens: int) -> Answer:
        """Returns an answer that was streamed, the times of a step's tokens being the same."""
        prompt = self.prompts[self.asked % len(self.prompts)]
        self.asked += 1
        place = urlsplit(self.server.url)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=600)
        path, body = _question(self.server.model, prompt, tokens)
        sent, times = self.clock.now(), []
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        for line in connection.getresponse():
            if line.startswith(b"data: {"):
                now = self.clock.now()
                times += [now] * len(_ids(json.loads(line[6:])))
        connection.close()
        # llama.cpp sends no event for a token that ends within a character.
        places = np.linspace(0, len(times) - 1, tokens).round().astype(int)
        return Answer(sent, tuple(times[place] for place in places))


def _all(work: Callable[[int], None], count: int) -> None:
    """Does so many numbered pieces of work at once; they end with the program."""
    threads = [threading.Thread(target=work, args=[n], daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _question(model: str | None, prompt: list[int], tokens: int) -> tuple[str, dict[str, Any]]:
    """Returns path and body of a request: vLLM names its model, llama.cpp does not."""
    body = {"prompt": prompt, "temperature": 0.0, "ignore_eos": True, "stream": True}
    if model is None:
        fields = {"n_predict": tokens, "cache_prompt": False, "return_tokens": True}
        return "/completion", body | fields
    fields = {"model": model, "max_tokens": tokens, "return_token_ids": True}
    return "/v1/completions", body | fields


def _ids(event: dict[str, Any]) -> list[int]:
    """Returns the tokens that an event of the stream brings."""
    if "choices" in event:
        return [token for choice in event["choices"] for token in choice["token_ids"] or []]
    return [] if event.get("stop") else event["tokens"]
