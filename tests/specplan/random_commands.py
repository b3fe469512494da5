"""Random inputs of plan, tree, traffic and observe: each number in its range, any combination."""

import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.engines.metrics_pages import llama_cpp_page, sglang_page, vllm_page, vllm_times

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
GPUS = ("h100", "a100-80gb", "l40s", "rtx-4090", "b200", "h200")
TYPICAL = ("eagle3-llama-3.1-8b-chat", "eagle3-llama-3.1-8b-finance")
PAIRS = (
    ("llama-3.1-8b", "llama-3.1-8b-eagle3"),
    ("llama-3.1-8b", "llama-3.2-1b"),
    ("llama-3.3-70b", "llama-3.3-70b-eagle3"),
    ("qwen3-14b", "qwen3-0.6b"),
)


class Commands:
    """Draws commands; files that they read are written into a folder."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.draw = random.Random(seed)
        self.folder = folder

    def next(self) -> list[str]:
        """Returns the arguments of one command."""
        kinds: list[Callable[[], list[str]]] = [self.plan, self.tree, self.traffic, self.observe]
        [kind] = self.draw.choices(kinds, weights=(12, 3, 3, 4))
        return [*kind(), "--json"]

    def plan(self) -> list[str]:
        words = self.runs() if self.maybe(0.3) else [*self.acceptance(), *self.cost()]
        most = self.draw.choice((1, 2, 5, 12, 32, 64))
        words += ["--max-gamma", str(most)] if most != 32 else []
        if self.maybe(0.3):
            words += ["--gamma", str(self.draw.randint(1, most))]
        if self.maybe(0.15):
            words += ["--near", self.number(0, 20)]
        if self.maybe(0.1):
            words += ["--export", self.draw.choice(("vllm", "sglang", "llama.cpp"))]
        return ["plan", *words]

    def tree(self) -> list[str]:
        shares = [self.draw.random() for _ in range(self.draw.randint(1, 6))]
        total = max(1.0, sum(shares) * self.draw.uniform(1, 2))
        ranks = sorted((share / total for share in shares), reverse=True)
        words = ["--acceptance-by-rank", ",".join(f"{rank:.4f}" for rank in ranks)]
        words += ["--max-nodes", str(self.draw.choice((1, 2, 7, 16)))]
        if self.maybe(0.5):
            words += ["--max-depth", str(self.draw.randint(1, 8))]
        return ["tree", *words, *self.cost()]

    def traffic(self) -> list[str]:
        cost = self.configurations() if self.maybe(0.6) else [*self.cost(), "--prompt-ms"]
        if cost[-1] == "--prompt-ms":
            cost.append(self.number(1, 2000))
        words = [*self.acceptance(), *cost, "--rate", f"{self.log(1e-3, 20):.4g}"]
        words += ["--prompt-tokens", str(int(self.log(1, 20_000)))]
        words += ["--output-tokens", str(int(self.log(1, 2_000)))]
        if self.maybe(0.3):
            words += ["--slots", str(self.draw.choice((1, 4, 64, 256)))]
        if self.maybe(0.3):
            words += ["--chunk-tokens", str(self.draw.choice((0, 256, 2048)))]
        return ["traffic", *words]

    def observe(self) -> list[str]:
        drafts = int(self.log(1, 1e6))
        gamma = self.draw.randint(1, 8)
        hits = sorted((self.draw.randint(0, drafts) for _ in range(gamma)), reverse=True)
        emitted = drafts + sum(hits)
        kind = self.draw.randrange(4)
        words = []
        if kind == 0:
            text = vllm_page(drafts, hits)
            if self.maybe(0.5):
                seconds = drafts * self.log(1e-3, 0.1)
                text += vllm_times(seconds=seconds, emitted=emitted + 3, requests=3)
        elif kind == 1:
            text = llama_cpp_page(drafts, drafts * gamma, [hit for hit in hits if hit])
            words = ["--gamma", str(gamma)] if self.maybe(0.7) else []
        elif kind == 2:
            text = sglang_page(calls=drafts, generated=emitted + 1, requests=1, steps=gamma)
        else:
            text = self.log_lines(drafts, hits)
        path = self.folder / "source.txt"
        path.write_text(text, encoding="utf-8")
        return ["observe", str(path), *words, *(self.cost() if self.maybe(0.5) else ())]

    def log_lines(self, drafts: int, hits: list[int]) -> str:
        rates = ", ".join(f"{hit / drafts:.3f}" for hit in hits)
        line = (
            "INFO 11-21 22:42:26 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: "
            f"{1 + sum(hits) / drafts:.2f}, Accepted: {sum(hits)} tokens, Drafted: "
            f"{drafts * len(hits)} tokens, Per-position acceptance rate: {rates}, Avg Draft "
            "acceptance rate: 1.0%\n"
        )
        return line * self.draw.randint(1, 5)

    def acceptance(self) -> list[str]:
        kind, gamma = self.draw.randrange(5), self.draw.randint(1, 8)
        if kind == 0:
            return ["--alpha", self.share()]
        if kind == 1:
            return ["--accepted-fraction", self.share(), "--at-gamma", str(gamma)]
        if kind == 2:
            return ["--block-efficiency", self.number(1, gamma + 1), "--at-gamma", str(gamma)]
        if kind == 3:
            return ["--acceptance-by-position", ",".join(self.rates(gamma))]
        return ["--typical", self.draw.choice(TYPICAL)]

    def cost(self) -> list[str]:
        kind = self.draw.randrange(4)
        if kind == 0:
            return ["--c", self.number(0, 1.2)]
        if kind == 1:
            return self.configurations()
        target = self.log(0.05, 500)
        words = ["--target-ms", f"{target:.6g}", "--draft-ms", f"{target * self.log(1e-3, 2):.6g}"]
        if self.maybe(0.5):
            passes, ms = 1, target
            for _ in range(self.draw.randint(1, 3)):
                passes, ms = passes + self.draw.randint(1, 8), ms * self.draw.uniform(1, 2)
                words += ["--verify-ms", f"{passes}={ms:.6g}"]
        if self.maybe(0.3):
            words += ["--overhead-ms", f"{target * self.draw.random():.6g}"]
        return words

    def configurations(self) -> list[str]:
        pair = self.draw.choice(PAIRS)
        names = zip(("--target-config", "--draft-config"), pair, strict=True)
        words = [word for name, file in names for word in (name, str(CONFIGS / f"{file}.json"))]
        words += ["--gpu", self.draw.choice(GPUS)]
        if self.maybe(0.3):
            words += ["--tp", self.draw.choice(("1", "2", "4"))]
        if self.maybe(0.3):
            words += ["--engine", self.draw.choice(("vllm", "sglang", "llama.cpp"))]
        elif self.maybe(0.2):
            words += ["--cost-model", "roofline"]
        if self.maybe(0.3):
            words += ["--batch", str(int(self.log(1, 300)))]
        return words

    def runs(self) -> list[str]:
        tpot = self.log(0.1, 400)
        words = ["--run", f"gamma=0,tpot={tpot:.6g}"] if self.maybe(0.9) else []
        for _ in range(self.draw.randint(1, 3)):
            gamma = self.draw.randint(1, 8)
            length = self.draw.uniform(1, gamma + 1)
            step = tpot * self.draw.uniform(0.9, 2.5)
            rates = "/".join(self.rates(gamma))
            accepted = f"length={length:.5f}" if self.maybe(0.6) else f"rates={rates}"
            words += ["--run", f"gamma={gamma},tpot={step / length:.6g},{accepted}"]
        return words

    def rates(self, count: int) -> list[str]:
        found = sorted((self.draw.random() for _ in range(count)), reverse=True)
        return [f"{rate:.4f}" for rate in found]

    def share(self) -> str:
        return self.draw.choice(("0", "1", "0.999999", "1e-9", *[f"{self.draw.random():.4f}"] * 8))

    def number(self, low: float, high: float) -> str:
        edge = self.draw.choice((low, high, *[self.draw.uniform(low, high)] * 8))
        return f"{edge:.6g}"

    def log(self, low: float, high: float) -> float:
        return float(low * (high / low) ** self.draw.random())

    def maybe(self, probability: float) -> bool:
        return self.draw.random() < probability


def refusal(stderr: str) -> str:
    """Returns the reason of a refusal without its numbers, so that reasons can be counted."""
    line = stderr.strip().splitlines()[-1]
    return json.dumps("".join("#" if sign.isdigit() else sign for sign in line))[1:90]
