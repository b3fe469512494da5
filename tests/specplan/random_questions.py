"""Random questions to the planner, each as a command's arguments and as Python's types."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import specplan as sp
from estimator.profiles.profile_file import write_profile
from tests.specplan.made_profiles import made_profile

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
PAIRS = (
    ("llama-3.1-8b", "llama-3.1-8b-eagle3"),
    ("llama-3.1-8b", "llama-3.2-1b"),
    ("llama-3.3-70b", "llama-3.3-70b-eagle3"),
    ("qwen3-32b", "qwen3-0.6b"),
)
GPUS = {"llama-3.3-70b": ("b200", "mi300x"), "qwen3-32b": ("h100", "h200", "b200")}
MEASURED, ANY = ("h100", "h200", "b200"), ("a100-80gb", "l40s", "h100")
BATCHES = ((1,), (1,), (8,), (64,), (1, 8), (1, 16, 64))
# Context of the plan that is compared with traffic, whose requests have it on average.
CONTEXT = 4096


@dataclass(frozen=True)
class Inquiry:
    """One question, as each road states it.

    words: arguments of `specplan plan`, and of `traffic` with a load.
    ask: the same question in Python.
    kind: ratio, times, runs, prior, kernels or profile.
    alpha: the rate of an acceptance that is i.i.d., and exact.
    cost: the words that state the cost, if `tree` can read them.
    several: whether there is more than one load.
    """

    kind: str
    words: tuple[str, ...]
    ask: Callable[[], Any]
    alpha: str | None = None
    cost: tuple[str, ...] = ()
    several: bool = False


class Inquiries:
    """Draws questions; files that they read are written into a folder."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.draw, self.folder = random.Random(seed), folder

    def next(self, kind: str) -> Inquiry:
        return {
            "ratio": self._ratio, "times": self._times, "runs": self._runs,
            "prior": self._prior, "kernels": self._kernels, "profile": self._profile,
        }[kind]()  # fmt: skip

    def _acceptance(self) -> tuple[tuple[str, ...], Any, str | None]:
        """Returns options, the type, and α where it is stated."""
        kind, gamma = self.draw.randrange(4), self.draw.randint(1, 7)
        if kind < 2:
            alpha = f"{self.draw.uniform(0.1, 0.97):.3f}"
            return ("--alpha", alpha), sp.Iid(float(alpha)), alpha
        if kind == 2:
            rates = self._rates(gamma)
            by_position = ("--acceptance-by-position", ",".join(rates))
            return by_position, sp.ByPosition([float(rate) for rate in rates]), None
        length = f"{self.draw.uniform(1.1, gamma + 0.9):.4f}"
        stated = ("--block-efficiency", length, "--at-gamma", str(gamma))
        return stated, sp.BlockEfficiency(float(length), gamma), None

    def _ratio(self) -> Inquiry:
        words, accepting, alpha = self._acceptance()
        c = f"{self._log(1e-3, 0.8):.4g}"
        cost = ("--c", c)
        return Inquiry(
            "ratio", (*words, *cost), lambda: sp.plan(accepting, sp.Ratio(float(c))), alpha, cost
        )

    def _times(self) -> Inquiry:
        words, accepting, alpha = self._acceptance()
        target = self._log(0.5, 80)
        ms = [f"{target:.6g}", f"{target * self._log(5e-3, 0.6):.6g}"]
        overhead, wide = f"{target * self.draw.uniform(0, 0.3):.6g}", f"{target * 1.4:.6g}"
        cost = (
            "--target-ms", ms[0], "--draft-ms", ms[1], "--verify-ms", f"6={wide}",
            "--overhead-ms", overhead,
        )  # fmt: skip
        times = sp.Times(
            float(ms[0]), float(ms[1]), verify_ms={6: float(wide)}, overhead_ms=float(overhead)
        )
        return Inquiry("times", (*words, *cost), lambda: sp.plan(accepting, times), alpha, cost)

    def _runs(self) -> Inquiry:
        """Runs at one batch or several, with drafts of two lengths at most."""
        batches = self.draw.choice(((1,), (1,), (4,), (1, 32), (2, 16, 64)))
        rates = self._rates(6)
        longest = self.draw.choice((1, 2, 3, 4, 6))
        words, runs, step = [], [], self._log(2, 50)
        for batch in batches:
            step *= self.draw.uniform(1.0, 1.8)
            block = step * self.draw.uniform(1.02, 1.7)
            words.append(f"gamma=0,tpot={step:.5g},batch={batch}")
            runs.append(sp.Run.of(gamma=0, tpot=float(f"{step:.5g}"), batch=batch))
            for gamma in sorted({longest, self.draw.choice((longest, 1))}):
                length = 1 + sum(map(float, rates[:gamma]))
                whole = block * (1 + 0.05 * gamma)
                stated = {"tpot": f"{whole / length:.5g}", "length": f"{length:.5g}"}
                words.append(
                    f"gamma={gamma},tpot={stated['tpot']},length={stated['length']},batch={batch}"
                )
                of = {name: float(value) for name, value in stated.items()}
                runs.append(sp.Run.of(gamma=gamma, batch=batch, **of))
        stated_runs = tuple(word for run in words for word in ("--run", run))
        return Inquiry(
            "runs", stated_runs, lambda: sp.plan(sp.Runs(runs)), several=len(batches) > 1
        )

    def _prior(self) -> Inquiry:
        return self._roofline("public")

    def _kernels(self) -> Inquiry:
        return self._roofline("kernels")

    def _roofline(self, model: str) -> Inquiry:
        words, accepting, alpha = self._acceptance()
        pair = self.draw.choice(PAIRS[:2] if model == "kernels" else PAIRS)
        target, draft = (str(CONFIGS / f"{name}.json") for name in pair)
        gpu = self.draw.choice(MEASURED if model == "kernels" else GPUS.get(pair[0], ANY))
        engine = self.draw.choice(("vllm",) if model == "kernels" else (None, "vllm", "sglang"))
        batches, context = self.draw.choice(BATCHES), self.draw.choice((1024, CONTEXT))
        cost = ["--target-config", target, "--draft-config", draft, "--gpu", gpu]
        cost += ["--cost-model", model, "--context", str(context)]
        cost += ["--batch", ",".join(map(str, batches))]
        cost += [] if engine is None else ["--engine", engine]
        roofline = sp.Roofline(
            target, draft, gpu=gpu, engine=engine, cost_model=model, context=context,
            batch=batches[0] if len(batches) == 1 else batches,
        )  # fmt: skip
        return Inquiry(
            model if model == "kernels" else "prior", (*words, *cost),
            lambda: sp.plan(accepting, roofline), alpha, tuple(cost), len(batches) > 1,
        )  # fmt: skip

    def _profile(self) -> Inquiry:
        alpha, c = self.draw.uniform(0.3, 0.95), self._log(0.01, 0.5)
        path = self.folder / "profile.json"
        write_profile(made_profile("d", alpha=alpha, c=c, slope=self.draw.uniform(0, 0.2)), path)
        return Inquiry("profile", ("--profile", str(path)), lambda: sp.plan(sp.Recorded(path)))

    def _rates(self, count: int) -> list[str]:
        rates, rate = [], 1.0
        for _ in range(count):
            rate *= self.draw.uniform(0.45, 0.95)
            rates.append(f"{rate:.4f}")
        return rates

    def _log(self, low: float, high: float) -> float:
        return float(low * (high / low) ** self.draw.random())
