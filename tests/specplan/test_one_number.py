"""A question has one answer: text, JSON, Python, tree, exports and traffic print one number.

SPECPLAN_NUMBERS=50 draws as many questions of each kind; SPECPLAN_NUMBERS_SEED begins elsewhere.
"""

import json
import math
import os
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from simulator.choice.advice import NEAR
from specplan.main import main
from specplan.reports.page.inputs import Document, recognised
from specplan.reports.page.page import section
from tests.specplan.made_profiles import GAMMAS
from tests.specplan.printed_plans import cells_of, sentence, table_of
from tests.specplan.random_questions import CONTEXT, Inquiries, Inquiry

# Questions drawn of each kind.
COUNTS = {"ratio": 60, "times": 50, "runs": 8, "prior": 32, "kernels": 16, "profile": 40}
# Keys that only a file has, for its page.
OF_FILES = {"command", "grid", "flags"}
COUNT = os.environ.get("SPECPLAN_NUMBERS")
SEED = int(os.environ.get("SPECPLAN_NUMBERS_SEED", "0"))
# Requests whose mean context is CONTEXT, and whose last block does not matter.
SAME = 2e-3
# A K whose speed-up is this close to the limit of near may be taken by one road only.
EDGE = 1e-4
LONG = ("--prompt-tokens", "96", "--output-tokens", "8000", "--rate", "1e-7")


def printed(*words: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, f"specplan {shlex.join(words)}: {result.output}"
    return result.stdout


def questions(kind: str, folder: Path) -> Iterator[Inquiry]:
    drawn = Inquiries(SEED, folder)
    for _ in range(COUNTS[kind] if COUNT is None else int(COUNT)):
        yield drawn.next(kind)


def near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9)


def wrong_in_one(text: str, data: dict[str, Any]) -> Iterator[str]:
    """Yields what differs between the text and the JSON of one plan."""
    curve = {str(point["gamma"]): point for point in data["curve"]}
    rows = table_of(text)
    if not rows:
        yield "no table"
    for row in rows:
        for name, cell in cells_of(curve[row["gamma (K)"]]).items():
            if row.get(name) != cell:
                yield f"K = {row['gamma (K)']}: {name} {row.get(name)} in the text, {cell} in JSON"
    yield from wrong_arithmetic(data)
    for point in data["curve"]:
        yield from wrong_arithmetic({**data, **point})
    baseline = data["baseline_tokens_per_second"]
    if baseline is not None:
        found = sentence(r"Tokens per second: ([\d.]+) at K = (\d+), ([\d.]+) without", text)
        if found:
            speed = curve[found[1]]["tokens_per_second"]
            if (found[0], found[2]) != (f"{speed:.1f}", f"{baseline:.1f}"):
                yield f"the sentence has {found}, JSON {speed} and {baseline}"
        found = sentence(r"Without speculation a token takes ([\d.]+) ms", text)
        if found and found[0] != f"{data['baseline_ms_per_token']:.2f}":
            yield f"the sentence has {found[0]} ms, JSON {data['baseline_ms_per_token']}"
    for gamma, factor in [sentence(r"\(K = (\d+)\): ([\d.]+) times", text) or ("", "")]:
        if gamma and factor != f"{curve[gamma]['improvement_factor']:.2f}":
            yield f"the advice has {factor} at K = {gamma}"
    yield from wrong_choice(data)


def wrong_arithmetic(data: dict[str, Any]) -> Iterator[str]:
    """Yields where times, speeds and speed-ups of a row do not follow from each other."""
    plain = data["baseline_tokens_per_second"]
    if plain is None:
        return
    batch, plain_ms = data["batch"], data["baseline_ms_per_token"]
    if not near(plain_ms * plain, 1000 * batch):
        yield f"{plain_ms} ms and {plain} tokens/s at batch {batch}"
    ms, speed, factor = (
        data[name] for name in ("ms_per_token", "tokens_per_second", "improvement_factor")
    )
    if not near(ms * speed, 1000 * batch) or not near(ms * factor, plain_ms):
        yield f"{ms} ms, {speed} tokens/s and {factor} times of {plain_ms} ms at batch {batch}"
    if not near(data["tokens_per_second_per_sequence"], speed / batch):
        yield f"{speed} tokens/s of {batch} sequences"


def wrong_choice(data: dict[str, Any]) -> Iterator[str]:
    """Yields why the advised K is not the smallest within 1 % of the best K that may be advised."""
    factors = {point["gamma"]: point["improvement_factor"] for point in data["curve"]}
    best = max(factors.values())
    if data["optimal_gamma"] and not near(factors[data["optimal_gamma"]], best):
        yield f"K = {data['optimal_gamma']} is called the best, of {factors}"
    named = data["test_gamma"] or data["advised_gamma"]
    if not named or any(point.get("measured") for point in data["curve"]):
        return
    limited = data["acceptance"]["observed_gamma"]
    if data["acceptance"]["kind"] == "replay":
        factors = {gamma: factors[gamma] for gamma in GAMMAS}  # only timed K are advised
    elif limited is not None:
        most = max(limited + 2, 2 * limited * (data.get("draft_kind") == "model"))
        factors = {gamma: factor for gamma, factor in factors.items() if gamma <= most}
    best = max(factors.values())
    close = min(gamma for gamma, factor in factors.items() if factor >= 0.99 * best)
    if named != close:
        yield f"K = {named} is advised, {close} is the smallest within 1 %"


def wrong_in_several(text: str, data: dict[str, Any]) -> Iterator[str]:
    """Yields what differs between the table and the JSON of several plans."""
    rows = table_of(text)
    if len(rows) != len(data["rows"]):
        yield f"{len(rows)} rows in the text, {len(data['rows'])} in JSON"
    for row, each in zip(rows, data["rows"], strict=False):
        if each["fits"] is False:
            continue
        yield from wrong_arithmetic(each)
        shown = {
            "without": f"{each['baseline_tokens_per_second']:.1f}",
            "best K": str(each["optimal_gamma"]),
        }
        if int(row.get("gamma (K)", row["advised K"])) == each["gamma"]:
            shown |= cells_of(each)
        for name, cell in shown.items():
            if row[name].rstrip("+") != cell:
                yield f"batch {each['batch']}: {name} {row[name]} in the text, {cell} in JSON"


def wrong_in_traffic(inquiry: Inquiry, data: dict[str, Any]) -> Iterator[str]:
    """Yields where `traffic` at a rate near 0 differs from the plan of batch 1."""
    words = [*inquiry.words, *LONG, "--slots", "1"]
    words += [] if inquiry.kind in ("prior", "kernels") else ["--prompt-ms", "1"]
    words += ["--alpha-spread", "0"] if inquiry.kind == "profile" else []
    without, drafting = json.loads(printed("traffic", *words, "--json"))["rows"]
    plain = data["baseline_ms_per_token"]
    if not math.isclose(without["tpot_ms"], plain, rel_tol=SAME):
        yield f"{without['tpot_ms']} ms without by traffic, {plain}"
    gamma = drafting["gamma"]
    if gamma != (data["test_gamma"] or data["advised_gamma"]) and data["advised_gamma"]:
        # Prompts take so little of a request that they change a K only at the very limit of near.
        factors = [0.0, *(point["improvement_factor"] for point in data["curve"])]
        if not math.isclose(factors[gamma], (1 - NEAR) * max(factors), rel_tol=EDGE):
            yield f"K = {gamma} by traffic, {data['advised_gamma']} by plan"
    if gamma:
        point = data["curve"][gamma - 1]
        ms = point["ms_per_token"]
        if not math.isclose(drafting["tpot_ms"], ms, rel_tol=SAME):
            yield f"{drafting['tpot_ms']} ms at K = {gamma} by traffic, {ms}"
        for end in ("low", "high") if "ms_per_token_low" in point else ():
            one, other = drafting[f"tpot_ms_{end}"], point[f"ms_per_token_{end}"]
            if not math.isclose(one, other, rel_tol=0.03):
                yield f"the {end} end is {one} ms at K = {gamma} by traffic, {other} by plan"
        chance, planned = drafting["gain_probability"], point["gain_probability"]
        if (chance is None) != (planned is None) or abs((chance or 0) - (planned or 0)) > 0.01:
            yield f"a gain of probability {chance} by traffic, {planned} by plan"


def wrong_in_tree(inquiry: Inquiry, data: dict[str, Any]) -> Iterator[str]:
    """Yields where a tree's chain differs from the plan of the same draft."""
    assert inquiry.alpha is not None
    words = ("--acceptance-by-rank", inquiry.alpha, *inquiry.cost, "--max-nodes", "9")
    found = json.loads(printed("tree", *words, "--max-depth", "9", "--json"))
    for row, plan in zip(found["rows"], data.get("rows", [data]), strict=True):
        chain, curve = row["chain"], plan.get("curve")
        if curve and chain["nodes"]:
            factor = curve[chain["nodes"] - 1]["improvement_factor"]
            if not near(chain["improvement_factor"], factor):
                yield f"the chain of {chain['nodes']} gives {chain['improvement_factor']}, {factor}"
        for tree in row["by_nodes"] if curve else ():
            factor = curve[tree["nodes"] - 1]["improvement_factor"]
            if tree["depth"] == tree["nodes"] and not near(tree["improvement_factor"], factor):
                yield f"the tree {tree['parents']} gives {tree['improvement_factor']}, {factor}"
        if plan["fits"] is not False and row["test_gamma"] != plan["test_gamma"]:
            yield f"the trees have {row['test_gamma']} to measure, the plan {plan['test_gamma']}"
        named = plan["test_gamma"] or plan["advised_gamma"]
        gains = plan["improvement_factor"] > 1
        if plan["fits"] is not False and gains and 0 < named < 8 and chain["nodes"] != named:
            yield f"the chain has {chain['nodes']} tokens, the plan K = {named}"


def wrong_in_page(inquiry: Inquiry, data: dict[str, Any]) -> Iterator[str]:
    """Yields where the points behind a page's sliders differ from the plans there."""
    kind = recognised(data)
    assert kind is not None
    explorer = section(Document("", kind, data)).explorer
    if explorer is None:
        return
    keys = [axis["key"] for axis in explorer["axes"]]
    sizes = [len(axis["values"]) for axis in explorer["axes"]]
    grid = np.reshape(explorer["speed_up"], (*sizes, len(explorer["gammas"])))
    start = explorer["starts"][0]
    places = [axis["values"].index(start[axis["key"]]) for axis in explorer["axes"]]
    for row in data.get("rows", [data]):
        for at, key in enumerate(keys):
            if key in ("batch", "context"):
                places[at] = explorer["axes"][at]["names"].index(str(row[key]))
        shown = grid[tuple(places)].tolist()
        planned = [0.0 if factor is None else factor for factor in row["speed_ups"]]
        if row["fits"] is not False and not np.allclose(shown, planned, rtol=1e-5):
            yield f"the page's grid has {shown}, JSON {planned}"
    if inquiry.alpha is not None and "alpha" in keys and not inquiry.several:
        values = explorer["axes"][keys.index("alpha")]["values"]
        places[keys.index("alpha")] = len(values) // 3
        words = ("plan", "--alpha", f"{values[len(values) // 3]:.6g}", *inquiry.cost, "--json")
        planned = [point["improvement_factor"] for point in json.loads(printed(*words))["curve"]]
        shown, able = grid[tuple(places)], grid[tuple(places)] > 0  # 0: cannot be advised
        if not np.allclose(shown[able], np.array(planned)[able], rtol=5e-3):
            yield f"another alpha has {shown} on the page, {planned} in a plan"


def wrong_in_schedule(inquiry: Inquiry, data: dict[str, Any]) -> Iterator[str]:
    """Yields where the flags for vLLM differ from the schedule without a stated reason."""
    words = () if inquiry.kind in ("prior", "kernels") else ("--draft-kind", "eagle3")
    flags = printed("plan", *inquiry.words, *words, "--export", "vllm")
    if words:  # a kind of draft changes what is expected of uncounted positions
        data = json.loads(printed("plan", *inquiry.words, *words, "--json"))
    undecided = any(row["test_gamma"] is not None for row in data["rows"])
    ranges = [
        [part["first_batch"], part["last_batch"], part["test_gamma"] or part["gamma"]]
        for part in data["schedule"]
    ]
    schedule = sentence(r'"num_speculative_tokens_per_batch_size": (\[\[.*?\]\])', flags)
    fixed = sentence(r'"num_speculative_tokens": (\d+)', flags) or ("0",)
    exported = json.loads(schedule[0]) if schedule else [[1, ranges[-1][1], int(fixed[0])]]
    comments = flags.replace("\n# ", " ")
    explained = "drafts nothing" in comments and "the time of one without speculation" in comments
    if exported != ranges and not explained:
        yield f"{exported} in the flags, {ranges} in the schedule, undecided: {undecided}"


def wrong_in_export(inquiry: Inquiry, data: dict[str, Any]) -> Iterator[str]:
    """Yields where the flags for SGLang differ from the advice."""
    if data["fits"] is False or inquiry.kind == "profile":
        return
    text = printed("plan", *inquiry.words, "--export", "sglang")
    named = data["test_gamma"] or data["advised_gamma"]
    found = sentence(r"--speculative-num-steps (\d+)", text) or ("0",)
    if int(found[0]) != named:
        yield f"K = {found[0]} in the flags, {named} advised"


@pytest.mark.usefixtures("kernel_tables")
@pytest.mark.parametrize("kind", COUNTS)
def test_all_roads_print_one_number(kind: str, tmp_path: Path) -> None:
    found = []
    for index, inquiry in enumerate(questions(kind, tmp_path)):
        # One command writes both, from one computation; Python makes another.
        text = printed("plan", *inquiry.words, "-o", str(tmp_path / "plan.json"))
        data = json.loads((tmp_path / "plan.json").read_text())
        data = {name: data[name] for name in data.keys() - OF_FILES}
        result = inquiry.ask()
        reasons = []
        if index % 5 == 0 and json.loads(printed("plan", *inquiry.words, "--json")) != data:
            reasons.append("the JSON of --json differs from the file's")
        if json.loads(json.dumps(result.json())) != data:
            reasons.append("Python's JSON differs")
        if str(result).strip() != text.strip():
            reasons.append("Python's text differs")
        if inquiry.several:
            reasons += wrong_in_several(text, data)
            if any(row["fits"] is not False for row in data["rows"]) and data.get("schedule"):
                reasons += wrong_in_schedule(inquiry, data)
        else:
            if data["advised_gamma"]:
                factor = data["curve"][data["advised_gamma"] - 1]["improvement_factor"]
                if not near(result.advice.speed_up, factor):
                    reasons.append(f"the advice has {result.advice.speed_up}, JSON {factor}")
            reasons += wrong_in_one(text, data)
            reasons += wrong_in_export(inquiry, data)
            in_seconds = data["baseline_tokens_per_second"] is not None
            same = data["batch"] == 1 and data.get("context") in (None, CONTEXT)
            if in_seconds and same and index % 2 == 0:
                reasons += wrong_in_traffic(inquiry, data)
        reasons += wrong_in_page(inquiry, data)
        if inquiry.alpha is not None and index % 3 == 1:
            reasons += wrong_in_tree(inquiry, data)
        found += [f"{reason}: specplan plan {shlex.join(inquiry.words)}" for reason in reasons]
    assert not found, "\n".join(found)
