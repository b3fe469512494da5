"""Servers that a user's own command starts, and the streams of ids with which they answer."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Self

from engines.engine import Completion
from engines.kind import EngineSettings, Models
from engines.servers.process import free_port, serving

START_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class CommandPair:
    """A target and a draft model for an engine that a command starts.

    target, draft: names or folders.
    command: command of the server with the user's own flags, for example `vllm serve --dtype
      float32`; the model and the flags of speculation are appended.
    """

    # The engine, and the command if the user states none.
    name: ClassVar[str]
    program: ClassVar[str]

    target: str
    draft: str
    command: tuple[str, ...]

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Self:
        stated = cls.program if settings.engine_command is None else settings.engine_command
        try:
            command = tuple(shlex.split(stated))
        except ValueError as error:
            raise ValueError(
                f"engine-command must be a command, got {stated!r}: {error}"
            ) from error
        if not command:
            raise ValueError("engine-command must be a command, got nothing")
        return cls(models.target, models.draft, command)

    @property
    def flags(self) -> tuple[str, ...]:
        return self.command

    @contextmanager
    def running(
        self, flags: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> Iterator[str]:
        """Runs the command with further flags while the context lasts; yields the server's URL."""
        port = str(free_port())
        url = f"http://127.0.0.1:{port}"
        with serving(
            [*self.command, *flags, "--host", "127.0.0.1", "--port", port],
            url=url,
            name=self.name,
            start_seconds=START_SECONDS,
            environment=environment,
        ):
            yield url


def streamed(engine: str, parts: Iterable[Sequence[int]], tokens: int, room: str) -> Completion:
    """Returns the text that an engine streams, with its times; refuses a text of another length.

    parts: new ids of each event. tokens: required length of the text.
    room: the server's flag that limits the length of texts, for the message.
    """
    text: list[int] = []
    first, began, ended = 0, 0.0, 0.0
    for ids in filter(None, parts):
        ended = time.perf_counter()
        if not text:
            first, began = len(ids), ended
        text += ids
    if len(text) != tokens:
        raise ValueError(
            f"{engine} must write {tokens} tokens, got {len(text)}: its {room} leaves no room"
        )
    return Completion(tuple(text), first, ended - began)
