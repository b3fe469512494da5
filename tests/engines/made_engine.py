"""An engine whose times and acceptances are made up, so that a search meets no clock."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import EngineKind
from engines.tuning.bench import Bench
from engines.tuning.request import Tuning
from engines.tuning.search import Search
from engines.tuning.tuned import Tuned
from estimator.settings import PromptSettings, TimingSettings

# Its own counts say whether it obeyed.
KIND = EngineKind(name="made", title="made", acceptance="counts")
PROMPTS = tuple((n, n + 1) for n in range(4))


@dataclass
class MadeEngine:
    """Steps take plain + gamma * (draft + block) seconds, times the machine's speed at that time.

    accepted: chance that a drafted token is.
    longest: tokens a block that it drafts at most, at any setting.
    refused: the least gamma that it does not start with.
    stops: whether it obeys a p_min.
    speed: from the number of texts so far.
    past_end: whether the last blocks of a text draft gamma tokens, too, and count what they accept.
    """

    plain: float = 1.0
    block: float = 0.2
    draft: float = 0.1
    accepted: float = 0.8
    longest: int = 99
    refused: int = 99
    stops: bool = True
    speed: Callable[[int], float] = lambda texts: 1.0
    past_end: bool = False
    up: int = 0
    texts: int = 0
    served: list[int] = field(default_factory=list)
    flags: tuple[str, ...] = ()

    @contextmanager
    def serve(self, setting: Setting) -> Iterator["MadeServer"]:
        if setting.gamma >= self.refused:
            raise ValueError(f"the head was trained for {self.refused - 1} tokens")
        self.served.append(setting.gamma)
        self.up += 1
        try:
            yield MadeServer(self, min(setting.gamma, self.longest), setting.p_min)
        finally:
            self.up -= 1

    def token_seconds(self, gamma: int) -> float:
        """Returns the time of a token of long texts."""
        if gamma == 0:
            return self.plain
        length = sum(self.accepted**i for i in range(gamma + 1))
        return (self.plain + self.block + gamma * self.draft) / length

    @property
    def best(self) -> int:
        """The quickest gamma of 0 to 16."""
        return min(range(17), key=self.token_seconds)


class MadeServer:
    """A server of one gamma; a text's blocks are drawn by its seed.

    p_min: above 0, a draft ends after its first wrong token, at a cost of p_min seconds a block.
    """

    version, model = "1", None

    def __init__(self, engine: MadeEngine, gamma: int, p_min: float) -> None:
        self.engine, self.gamma, self.counted = engine, gamma, NOTHING
        self.p_min = p_min if engine.stops else 0.0
        # Texts that are decoded at once are counted by several threads.
        self._counting = Lock()

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        engine, room, steps, counted = self.engine, max_new_tokens - 1, 0, NOTHING
        tokens = 0
        draws = np.random.default_rng((seed if temperature > 0 else 0, *prompt))
        while room > 0:
            drafted = self.gamma if engine.past_end else min(self.gamma, room - 1)
            stood = 0
            while stood < drafted and draws.random() < engine.accepted:
                stood += 1
            if self.p_min > 0:
                drafted = min(drafted, stood + 1)
            tokens += drafted if self.p_min > 0 else self.gamma
            if drafted:
                hits = (1,) * stood + (0,) * (self.gamma - stood)
                counted += Counts.of(1, drafted, hits)
            room -= stood + 1
            steps += 1
        step = engine.plain + (engine.block if self.gamma else 0.0) + self.p_min
        with self._counting:
            self.counted += counted
            took = steps * step + tokens * engine.draft
            seconds = 1e-3 * took * engine.speed(engine.texts)
            engine.texts += 1
        return Completion((0,) * max_new_tokens, 1, seconds)

    def counts(self) -> Counts:
        return self.counted


def made_tuning(**settings: object) -> Tuning:
    """Returns how to tune: long texts, so that their acceptance is near its mean."""
    given = {
        "text": PromptSettings(num_prompts=len(PROMPTS), max_new_tokens=400),
        "timing": TimingSettings(repeats=3),
    }
    return Tuning(**{**given, **settings})


def searched(
    engine: MadeEngine,
    how: Tuning,
    shown: Callable[..., object] | None = None,
    *,
    together: bool = True,
) -> Tuned:
    """Returns what a tuning of a made engine finds."""
    kind = replace(KIND, drafts_past_end=engine.past_end)
    with Bench(engine.serve, kind, PROMPTS, how, together=together) as bench:
        return Search(bench, {"engine": "made"}, "D", shown or (lambda *_: None)).run()
