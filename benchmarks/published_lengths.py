"""How accepted lengths change with gamma, by kind of draft, in what others published.

    python benchmarks/published_lengths.py           # coverage of 90 % intervals, source left out
    python benchmarks/published_lengths.py --fit     # writes simulator/acceptance/rate_priors.json

The lengths come from published_speculation.csv (chains, without lengths that p-min cut short) and
from the package's typical lengths. A group has one source, draft, target and workload. An owner of
several groups counts by the root of their number. The law of each kind
(simulator/acceptance/rate_prior.py) is fitted by marginal likelihood, drawn towards the common law.

Coverage: each length of a group is predicted from each other single length of it, by a law that has
not seen the owner's groups.
"""

import argparse
import csv
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from published_rows import COMPARED, JOINED, KEPT_OUT, draft_class, read_table
from scipy.optimize import minimize

from simulator.acceptance import rate_prior as priors
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import from_counts
from simulator.acceptance.rate_prior import RatePrior, log_lengths_of, most_probable

HERE = Path(__file__).parent
WRITTEN = Path(priors.__file__).with_name("rate_priors.json")
TYPICAL = HERE.parent / "simulator" / "acceptance" / "typical.csv"
KINDS = ("EAGLE", "MTP", "block", "model", "n-gram")
# Positions that published blocks have at most.
LONGEST = 24
# Sampling error of a published length, in logarithms.
ERROR = 0.015
# Many blocks: so that their number says that error.
DRAFTS = 2000
# Distance of a kind's law from the common law of all kinds: standard deviations of its parameters.
APART = np.array([0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.5])
# The law before there was one for each kind, for comparison.
BEFORE = RatePrior(1.3, -0.3, np.diag([0.64, 0.0625]), 1e-3, 1e-3)
NINETY = 1.6449


@dataclass(frozen=True)
class Group:
    """The mean lengths of a source's draft on one workload, by γ."""

    kind: str
    owner: str
    draft: tuple[str, ...]
    lengths: dict[int, float]


def groups() -> list[Group]:
    """Returns all groups."""
    found: dict[Any, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in read_table():
        kind = draft_class(row["kind"])
        used = row["length"] and row["gamma"] and row["length_from"] != "biased"
        used = used and row["source"] not in (*KEPT_OUT, *JOINED, *COMPARED)
        if used and kind in KINDS and row["width"] in ("", "1"):
            key = (kind, row["source"], row["draft"], row["target"], row["format"],
                   row["temperature"], row["dataset"])  # fmt: skip
            found[key][int(row["gamma"])].append(float(row["length"]))
    with TYPICAL.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["source"].startswith("SemiAnalysisAI"):
                kind = draft_class(row["kind"])
                key = (kind, row["source"], row["draft"], row["target"], "", "", row["workload"])
                pairs = zip(row["gammas"].split("/"), row["lengths"].split("/"), strict=True)
                for gamma, length in pairs:
                    found[key][int(gamma)].append(float(length))
    return [
        Group(key[0], key[1].split("/")[0], key[1:-1],
              {gamma: float(np.exp(np.log(each).mean())) for gamma, each in sorted(by.items())})
        for key, by in found.items()
        if max(by) <= LONGEST and all(1 <= np.mean(v) <= g + 1 for g, v in by.items())
    ]  # fmt: skip


def law(parameters: np.ndarray) -> RatePrior:
    first, change, *logs, correlation = parameters
    a, b, walk, own = np.exp(logs)
    across = np.tanh(correlation) * a * b
    return RatePrior(first, change, np.array([[a**2, across], [across, b**2]]), walk, own)


def misfit(prior: RatePrior, group: Group) -> float:
    """Returns -2 times the logarithm of the likelihood of a group's lengths (Laplace)."""
    mean, own = prior.law(LONGEST)
    covariance = np.zeros((LONGEST + 1, LONGEST + 1))
    covariance[:-1, :-1], covariance[-1, -1] = own, 1e-6
    data = [(Accepted(gamma, length), 0.0) for gamma, length in group.lengths.items()]
    measured = np.log(list(group.lengths.values()))
    noise = ERROR**2 * np.eye(len(measured))
    start = np.append(mean, 0.0)
    found = most_probable(start, covariance, data, measured, noise)
    logs, slopes = log_lengths_of(found, data)
    off = measured - logs - slopes @ (start - found)
    total = slopes @ covariance @ slopes.T + noise
    return float(np.linalg.slogdet(total)[1] + off @ np.linalg.solve(total, off))


def fitted(known: Sequence[Group]) -> dict[str, np.ndarray]:
    """Returns the parameters of all kinds together, and of each that has groups."""
    owners = Counter((each.kind, each.owner) for each in known)
    weights = [owners[each.kind, each.owner] ** -0.5 for each in known]

    def worst(parameters: np.ndarray, kinds: Sequence[str]) -> float:
        prior = law(parameters)
        pairs = [(w, g) for w, g in zip(weights, known, strict=True) if g.kind in kinds]
        shares = Counter[str]()
        for weight, group in pairs:
            shares[group.kind] += weight  # type: ignore[assignment]
        even = {kind: 1.0 if len(kinds) == 1 else 5 / shares[kind] for kind in shares}
        return sum(even[g.kind] * w * misfit(prior, g) for w, g in pairs)

    start = np.array([1.0, -0.2, -0.2, -1.0, -1.5, -2.0, 0.0])
    loose = np.array([2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    found = {"all": _least(lambda p: worst(p, KINDS) + (((p - start) / loose) ** 2).sum(), start)}
    for kind in sorted({each.kind for each in known}):
        middle = found["all"]
        found[kind] = _least(
            lambda p, kind=kind, middle=middle: (
                worst(p, [kind])  # type: ignore[misc]
                + (((p - middle) / APART) ** 2).sum()
            ),
            middle,
        )
    return found


def _least(function: Any, start: np.ndarray) -> np.ndarray:
    options = {"maxiter": 60, "eps": 1e-3}
    return np.asarray(minimize(function, start, method="L-BFGS-B", options=options).x)


def spread_of_workloads(known: Sequence[Group], found: dict[str, np.ndarray]) -> float:
    """Returns the standard deviation of a draft's logits between workloads, their mean taken."""
    by_draft = defaultdict(list)
    for group in known:
        mean, own = law(found[group.kind]).law(LONGEST)
        start = np.append(mean, 0.0)
        covariance = np.diag(np.append(np.zeros(LONGEST), 1e-6))
        covariance[:-1, :-1] = own
        data = [(Accepted(gamma, length), 0.0) for gamma, length in group.lengths.items()]
        measured = np.log(list(group.lengths.values()))
        noise = ERROR**2 * np.eye(len(measured))
        by_draft[group.kind, group.draft].append(
            most_probable(start, covariance, data, measured, noise)[:3].mean()
        )
    drawn = [np.array(each) for each in by_draft.values() if len(each) > 2]
    squares = sum(((each - each.mean()) ** 2).sum() for each in drawn)
    return float(np.sqrt(squares / sum(len(each) - 1 for each in drawn)))


def coverage(known: Sequence[Group], found: dict[tuple[str, str], RatePrior]) -> None:
    """Prints by kind the share of lengths within 90 % intervals, their width, and the bias."""
    rows = defaultdict(list)
    for group in known:
        for gamma, length in group.lengths.items():
            acceptance = None
            for other, measured in group.lengths.items():
                if other == gamma:
                    continue
                prior = found[group.owner, group.kind]
                seen = Accepted(gamma, length, drafts=DRAFTS)
                acceptance = acceptance or from_counts([seen], prior=prior)
                mean, variance = acceptance.log_lengths([other])
                half = NINETY * np.sqrt(variance[0, 0] + ERROR**2)
                off = np.log(measured) - mean[0]
                for where in ("all", "longer" if other > gamma else "shorter"):
                    rows[group.kind, where].append((group.owner, abs(off) <= half, half, -off))
    print("| kind | predicted gammas | owners | lengths | covered, % | by owner | half-width, % "
          "| bias, % | error, % |")  # fmt: skip
    print("|---" * 9 + "|")
    for (kind, where), each in sorted(rows.items()):
        owners = sorted({owner for owner, *_ in each})
        inside, half, bias = np.array([row[1:] for row in each], dtype=float).T
        of_owner = [np.mean([row[1] for row in each if row[0] == owner]) for owner in owners]
        print(f"| {kind} | {where} | {len(owners)} | {len(each)} | {100 * inside.mean():.0f} "
              f"| {100 * np.mean(of_owner):.0f} | {100 * half.mean():.1f} | "
              f"{100 * bias.mean():+.1f} | {100 * np.abs(bias).mean():.1f} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fit", action="store_true", help="write rate_priors.json")
    given = parser.parse_args()
    known = groups()
    if given.fit:
        found = fitted(known)
        kinds = {}
        for kind, parameters in found.items():
            prior = law(parameters)
            kinds[kind] = {
                "first": round(prior.first, 4), "change": round(prior.change, 4),
                "covariance": prior.covariance.round(5).tolist(),
                "walk": round(float(prior.walk), 4), "own": round(float(prior.own), 4),
            }  # fmt: skip
        written = {"kinds": kinds, "workloads": round(spread_of_workloads(known, found), 3)}
        WRITTEN.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(written, indent=1))
        return
    several = [group for group in known if len(group.lengths) > 1]
    print("\nThe law used before, one for all kinds:\n")
    coverage(several, defaultdict(lambda: BEFORE))
    print("\nA law for each kind, the owner left out:\n", flush=True)
    without: dict[tuple[str, str], RatePrior] = {}
    for owner in sorted({group.owner for group in several}):
        found = fitted([group for group in known if group.owner != owner])
        for kind in KINDS:
            without[owner, kind] = law(found.get(kind, found["all"]))
    coverage(several, without)


if __name__ == "__main__":
    main()
