"""llama.cpp: its server from the wheel `xllamacpp`; prompts and texts are ids.

The wheel contains the server as a library. It runs in a process of its own,
`llama_cpp_process`.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.kind import EngineSettings, Models
from engines.observing.llama_cpp import TURNS_ON
from engines.observing.printed import MetricsPage
from engines.servers.http import get_text, post_json
from engines.servers.process import serving, thread_seconds
from engines.text_scores import TextScores
from estimator.model_shapes.gguf_header import is_gguf
from estimator.timing.threads import chosen_threads

START_SECONDS = 300.0
# Parameters of a server that number its threads.
THREADS = tuple(
    f"{model}cpuparams{batch}.n_threads"
    for model in ("", "speculative.draft.")
    for batch in ("", "_batch")
)
SIMULATED = "speculative.synth_rates"
PROGRAM = str(Path(__file__).with_name("llama_cpp_process.py"))


class LlamaCppServer:
    """A running llama.cpp server, started here or elsewhere with `--metrics`."""

    model = None

    def __init__(
        self, url: str, process: int | None = None, *, gamma: int | None = None, p_min: float = 0.0
    ) -> None:
        """Connects to a server.

        process: id of the server's local process, if it has one thread and one request at a time.
          Its CPU time is measured, which excludes other programs. None: wall time is measured.
        gamma: sent with each request, as is p_min; builds since May 2026 ignore it. None: neither
          is sent, and the server uses its own γ.
        """
        self.url = url.rstrip("/").removesuffix("/v1")
        self._process = process
        names = ("speculative.n_max", "speculative.n_min", "speculative.p_min")
        self._drafting = {} if gamma is None else dict(zip(names, (gamma, 0, p_min), strict=True))
        self._answered, self._has_metrics = NOTHING, True

    @property
    def version(self) -> str:
        """Version of the wheel `xllamacpp`; "unknown" without the wheel."""
        try:
            return f"xllamacpp {version('xllamacpp')}"
        except PackageNotFoundError:
            return "unknown"

    def complete(
        self, prompt: Sequence[int], *, max_new_tokens: int, temperature: float, seed: int
    ) -> Completion:
        """Returns a completion, sampled without filters such as top-p; see `EngineServer`."""
        before = thread_seconds(self._process)
        body = {
            "prompt": list(prompt), "n_predict": max_new_tokens, "temperature": temperature,
            "samplers": ["temperature"], "seed": seed, "ignore_eos": True, "return_tokens": True,
            "cache_prompt": False,
        }  # fmt: skip
        answer = post_json(f"{self.url}/completion", body | self._drafting)
        tokens = tuple(answer["tokens"])
        if answer["tokens_evaluated"] != len(prompt) or len(tokens) != max_new_tokens:
            raise ValueError(
                f"llama.cpp must read {len(prompt)} ids and write {max_new_tokens}, got "
                f"{answer['tokens_evaluated']} and {len(tokens)}"
            )
        timings = answer["timings"]
        self._answered += _counts_of(timings)
        seconds = timings["predicted_ms"] / 1e3
        after = thread_seconds(self._process)
        computed = max((after[one] - before.get(one, 0.0) for one in after), default=0.0)
        if computed > 0:
            seconds *= computed / ((timings["prompt_ms"] + timings["predicted_ms"]) / 1e3)
        return Completion(tokens, 1, seconds)

    def counts(self) -> Counts:
        """Returns the server's counters; without a metrics page, sums of this client's answers."""
        if self._has_metrics:
            try:
                page = get_text(f"{self.url}/metrics")
            except ValueError:
                self._has_metrics = False
            else:
                return MetricsPage(page, "llamacpp:").counts(TURNS_ON)
        return self._answered

    def tokens_of(self, text: str) -> list[int]:
        """Returns the ids of a prompt, after those with which the model's texts begin."""
        body = {"content": text, "add_special": True}
        return list(post_json(f"{self.url}/tokenize", body)["tokens"])

    def score(self, prompt: Sequence[int], tokens: Sequence[int]) -> TextScores:
        """Returns the served model's scores of a text; ranks other than the first are 2.

        The server decodes the text under a grammar that allows nothing else.
        """
        body = {
            "prompt": list(prompt), "n_predict": len(tokens), "temperature": 0.0, "n_probs": 1,
            "samplers": ["temperature"], "ignore_eos": True, "return_tokens": True,
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
        }  # fmt: skip
        answer = post_json(f"{self.url}/completion", body)
        if answer["tokens"] != list(tokens):
            raise ValueError(
                "this version of llama.cpp must decode a text of given ids (a grammar of tokens), "
                f"got {len(answer['tokens'])} other ids"
            )
        scored = answer["completion_probabilities"]
        ranks = [1 if token["top_logprobs"][0]["id"] == token["id"] else 2 for token in scored]
        return TextScores.of([min(0.0, token["logprob"]) for token in scored], ranks)


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """llama.cpp with a target and a draft model, which are GGUF files.

    positions: number of tokens of one request that the cache must hold: prompt, text and draft.
    folders: folders from which the files of target and draft are written before the first server.
    """

    target: Path
    draft: Path
    positions: int
    threads: int
    folders: tuple[Path, ...] = ()

    @classmethod
    def of_models(cls, models: Models, settings: EngineSettings) -> Self:
        """Returns llama.cpp with a pair of GGUF files, or of folders that become GGUF files."""
        target = Path(models.target)
        files = target, Path(models.draft)
        folders: tuple[Path, ...] = ()
        if not is_gguf(target):
            folders, files = files, (models.folder / "target.gguf", models.folder / "draft.gguf")
        return cls(*files, models.positions, chosen_threads(settings.threads), folders)

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"threads={self.threads}", f"context={self.positions}", "p_min=0")

    def write(self) -> None:
        """Writes the files of models in folders, unless they are there."""
        for folder, file in zip(self.folders, (self.target, self.draft), strict=False):
            if not file.exists():
                from engines.servers.gguf_files import write_gguf

                write_gguf(folder, self.folders[0], file)

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[LlamaCppServer]:
        self.write()
        parameters: dict[str, Any] = dict.fromkeys(THREADS, self.threads) | {
            "model.path": str(self.target if setting.model == "target" else self.draft),
            "n_parallel": setting.concurrency,
            "n_ctx": self.positions * setting.concurrency,
            # As llama.cpp's own server: with a cache for each request, requests in slots that are
            # not adjacent are decoded in separate passes.
            "kv_unified": True,
            "endpoint_metrics": True,
        }
        if setting.gamma > 0:
            parameters |= {
                "speculative.types": ["COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE"],
                "speculative.draft.mparams.path": str(self.draft),
                "speculative.draft.n_max": setting.gamma,
                "speculative.draft.p_min": setting.p_min,
                "speculative.draft.probabilistic": setting.draft_sampling == "sampled",
            }
            if setting.synthetic is not None:
                parameters[SIMULATED] = setting.synthetic
        # -P: modules of this folder must not replace the standard library's.
        command = [sys.executable, "-P", PROGRAM, json.dumps(parameters)]
        with serving(command, name="llama.cpp", start_seconds=START_SECONDS) as (url, process):
            # Several threads wait for one another, and several requests share one.
            alone = self.threads == 1 and setting.concurrency == 1
            yield LlamaCppServer(url, process if alone else None)


def _counts_of(timings: Mapping[str, Any]) -> Counts:
    """Returns an answer's counts, without positions; excludes a last step that drafted nothing."""
    drafted, accepted = timings.get("draft_n", 0), timings.get("draft_n_accepted", 0)
    steps = timings["predicted_n"] - 1 - accepted
    if drafted == 0 or steps <= 0:
        return NOTHING
    longest = math.ceil(drafted / steps)
    return Counts(steps - (steps * longest - drafted >= longest), drafted, accepted)
