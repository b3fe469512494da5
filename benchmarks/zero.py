"""Compares an engine that speculates and drafts nothing with one that has no draft, by time.

    OMP_NUM_THREADS=1 python benchmarks/zero.py --engine transformers [--prompts 8] [--tokens 64]
        [--turns 9] [-o FILE]
    VLLM_CPU_KVCACHE_SPACE=1 HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 python benchmarks/zero.py
        --engine vllm --draft eagle3 --python FOLDER/bin/python    # scripts/install_vllm.sh FOLDER

Both servers have one thread and write the embedded target's texts at temperature 0, prompt by
prompt in turns whose order alternates. A turn's ratio is of the sums over its prompts; the interval
is Student's, of the logarithms of all turns.

    transformers, mlx    K = 0 is a setting of the decoding loop, which has the draft
    llama.cpp            K = 0 ends its server (xllamacpp 2026.10), so p-min is 1: each step drafts
                         one token and submits none
    vllm                 K = 0 is the only range of the schedule of draft lengths; --draft names the
                         draft: draft_model, eagle3 (a head of the embedded target) or ngram
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from result_file import setup, write_result
from scipy.stats import t

from engines.engine import EngineServer, Prompts, Setting
from engines.kind import EngineSettings, Models
from engines.observing.vllm import TURNS_ON
from engines.servers.in_process import Transformers, TransformersServer
from engines.servers.llama_cpp import LlamaCpp
from engines.servers.mlx import Mlx, MlxServer
from engines.servers.vllm import Vllm
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from reference.models.embedded import weights_folder

NONE, DRAFTING = Setting(0), Setting(1, "sampled")
LIBRARIES = {"llama.cpp": "xllamacpp", "mlx": "mlx-lm", "transformers": "transformers"}
VLLM_DRAFTS = ("draft_model", "eagle3", "ngram")
VLLM_FLAGS = ("--dtype", "float32", "--enforce-eager", "--max-model-len", "256")


@contextmanager
def vllm_servers(
    python: str, draft: str, models: Models
) -> Iterator[tuple[EngineServer, EngineServer]]:
    """Yields vLLM without a draft, and vLLM with one and a schedule that drafts nothing."""
    schedule = {"num_speculative_tokens": 3, "num_speculative_tokens_per_batch_size": [[1, 256, 0]]}
    config: dict[str, object] = {"method": draft, **schedule}
    if draft == "ngram":
        config["prompt_lookup_max"] = 3
    else:
        config["model"] = str(weights_folder("eagle3")) if draft == "eagle3" else models.draft
    command = (python, "-m", "vllm.entrypoints.openai.api_server", *VLLM_FLAGS)
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(Vllm(models.target, models.draft, words).serve(NONE))
            for words in (command, (*command, TURNS_ON, json.dumps(config)))
        )
        yield one, other


@contextmanager
def servers(engine: str, models: Models) -> Iterator[tuple[EngineServer, EngineServer]]:
    """Yields a server without a draft, and one that speculates and drafts nothing."""
    settings = EngineSettings(engine, threads=1)
    if engine == "llama.cpp":
        served = LlamaCpp.of_models(models, settings)
        with ExitStack() as stack:
            one, other = (
                stack.enter_context(served.serve(setting))
                for setting in (NONE, Setting(1, p_min=1.0))
            )
            yield one, other
    elif engine == "mlx":
        mlx = Mlx.of_models(models, settings)
        yield MlxServer(*mlx.models(NONE), NONE), MlxServer(*mlx.models(DRAFTING), NONE)
    else:
        loaded = Transformers.of_models(models, settings)
        with loaded.serve(NONE) as plain:
            yield plain, TransformersServer(*loaded.models(DRAFTING), NONE)


def turn(
    pair: Sequence[EngineServer], prompts: Prompts, tokens: int, number: int
) -> tuple[float, float]:
    """Returns seconds of all texts of a turn by each server; refuses different texts."""
    sums = [0.0, 0.0]
    for at, prompt in enumerate(prompts):
        texts = {}
        for which in (0, 1) if (number + at) % 2 == 0 else (1, 0):
            text = pair[which].complete(prompt, max_new_tokens=tokens, temperature=0.0, seed=0)
            sums[which] += text.seconds
            texts[which] = text.tokens
        if texts[0] != texts[1]:
            raise ValueError(f"both servers must write one text, got two of prompt {at}")
    return sums[0], sums[1]


def ratio(seconds: NDArray[np.float64]) -> tuple[float, float, float]:
    """Returns the second server's time over the first's with its 95 % interval.

    seconds: time that both servers took for each turn, shape (turns, 2).
    """
    logs = np.log(seconds[:, 1] / seconds[:, 0])
    reach = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
    middle, low, high = np.exp(logs.mean() + reach * np.array([0.0, -1.0, 1.0]))
    return float(middle), float(low), float(high)


def main() -> None:
    """Runs the turns and prints times, and their ratio with its interval."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=sorted([*LIBRARIES, "vllm"]), required=True)
    parser.add_argument("--draft", choices=VLLM_DRAFTS, default=VLLM_DRAFTS[0])
    parser.add_argument("--python", default=os.environ.get("SPECPLAN_VLLM", "python"))
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    text = PromptSettings(num_prompts=arguments.prompts, max_new_tokens=arguments.tokens)
    with TemporaryDirectory() as folder:
        pair = folder_pair(None, ["embedded"], text, Path(folder))
        models = Models(pair.target, pair.draft, Path(folder), 256)
        running = (
            vllm_servers(arguments.python, arguments.draft, models)
            if arguments.engine == "vllm"
            else servers(arguments.engine, models)
        )
        with running as both:
            turn(both, pair.prompts[:1], arguments.tokens, 0)
            seconds = np.array(
                [
                    turn(both, pair.prompts, arguments.tokens, number)
                    for number in range(arguments.turns)
                ]
            )
            drafts, version = both[1].counts().drafts, getattr(both[1], "version", None)
    middle, low, high = ratio(seconds)
    ms = 1e3 * np.median(seconds, axis=0) / (len(pair.prompts) * (arguments.tokens - 1))
    name = f"vllm {version}, {arguments.draft}" if version else arguments.engine
    print(f"{name}: {ms[0]:.3f} ms a token without a draft, {ms[1]:.3f} with K = 0")
    print(f"{middle:.3f} times [{low:.3f}, {high:.3f}] the time, {arguments.turns} turns")
    print(f"tokens submitted: {drafts}")
    if arguments.output is not None:
        result = {
            "engine": arguments.engine, "ratio": middle, "low": low, "high": high,
            "ms_per_token": ms.tolist(), "prompts": len(pair.prompts),
            "tokens": arguments.tokens, "turns": arguments.turns,
        }  # fmt: skip
        if arguments.engine == "vllm":
            result |= {"draft": arguments.draft, "version": version}
        library = LIBRARIES.get(arguments.engine, "specplan")
        write_result(arguments.output, result | setup(library))


if __name__ == "__main__":
    main()
