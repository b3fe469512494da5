"""Acceptance from texts equals acceptance with the model, for any number of processes."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from estimator.draft_names.kind import LoadContext, parse_drafter
from estimator.profiles.contexts import at_contexts
from estimator.profiles.profile import Profile
from estimator.profiles.profile_file import read_profile
from estimator.profiles.workloads import measured_alpha
from estimator.prompts import logs as log
from estimator.prompts.logs import earlier_outputs
from estimator.requests import MeasureTexts
from estimator.settings import ModelSettings
from estimator.texts.counting import MOST_NUMBERS, Totals
from estimator.texts.measure import measure
from estimator.traces.scoring import trace
from estimator.traces.traces import replayed_blocks
from ngram.indexes import Matches
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.records import Stopping
from reference.rules import STRICT
from reference.speculative import Subject, plain_session
from tests.estimator.pairs import PROMPTS, tiny_llama

TOKENS, GAMMA = 60, 5


def written(path: Path, lines: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def measured(path: Path, **given: Any) -> tuple[Profile, Totals]:
    request: dict[str, Any] = {"drafts": ("lookup",), "max_gamma": GAMMA, "processes": 1}
    return measure(MeasureTexts(texts=path, **(request | given)))


@pytest.fixture
def many(tmp_path: Path) -> Path:
    generator = np.random.default_rng(5)
    lines = [
        {"prompt": generator.integers(9, size=9).tolist(),
         "output": generator.integers(9, size=1 + number % 40).tolist()}
        for number in range(60)
    ]  # fmt: skip
    return written(tmp_path / "log.jsonl", lines)


@functools.cache
def model() -> CausalModel:
    return tiny_llama(seed=3)


@functools.cache
def greedy(prompt: tuple[int, ...], tokens: int) -> list[int]:
    """Returns the model's own text, decoded once."""
    how = {"sampling": Sampling(0.0), "generator": torch.Generator()}
    return list(plain_session(model(), prompt, stopping=Stopping(tokens), **how).finished().tokens)


@pytest.mark.parametrize("name", ["lookup", "lookup:1", "lookup:vllm:2-3", "suffix", "suffix:6"])
def test_alpha_and_replay_are_those_that_the_greedy_model_tells(name: str, tmp_path: Path) -> None:
    require_alike(name, tmp_path)


def test_drafts_from_earlier_outputs_are_those_that_the_greedy_model_tells(tmp_path: Path) -> None:
    output = greedy(tuple(PROMPTS[0]), 20)
    earlier = written(
        tmp_path / "earlier.jsonl",
        [{"prompt": [7], "output": output[:9]}, {"prompt": [], "output": output[5:]}],
    )
    found = require_alike(f"suffix:12:{earlier}", tmp_path)
    own = measured(tmp_path / "log.jsonl", drafts=("suffix:12",))[0]
    assert found.alpha.value > own.alpha.value


def require_alike(name: str, tmp_path: Path) -> Profile:
    """Returns acceptance along texts; fails unless it equals acceptance with their model."""
    target = model()
    drafter = parse_drafter(name).load(LoadContext(target, None, ModelSettings()))(Sampling(0.0))
    subject = Subject(target, drafter, Sampling(0.0), Stopping(TOKENS), STRICT)
    texts = {tuple(prompt): greedy(tuple(prompt), TOKENS) for prompt in PROMPTS}
    traces = [trace(subject, prompt, text, max_gamma=GAMMA) for prompt, text in texts.items()]
    lines = [{"prompt": prompt, "output": text} for prompt, text in texts.items()]
    found = measured(written(tmp_path / "log.jsonl", lines), drafts=(name,))[0]
    assert 0 < found.alpha.value < 1
    assert found.alpha == measured_alpha(traces)
    assert found.drafting().blocks == replayed_blocks(traces, GAMMA)
    return found


def test_acceptance_by_context_is_that_of_the_greedy_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("estimator.profiles.contexts", "estimator.texts.contexts"):
        monkeypatch.setattr(f"{module}.LEAST_TOKENS", 40)
    target = model()
    drafter = parse_drafter("lookup").load(LoadContext(target, None, ModelSettings()))
    subject = Subject(target, drafter(Sampling(0.0)), Sampling(0.0), Stopping(TOKENS), STRICT)
    texts = {tuple(prompt): greedy(tuple(prompt), TOKENS) for prompt in PROMPTS}
    traces = [trace(subject, prompt, text, max_gamma=GAMMA) for prompt, text in texts.items()]
    lines = [{"prompt": prompt, "output": text} for prompt, text in texts.items()]
    profile = measured(written(tmp_path / "log.jsonl", lines), drafts=("lookup",))[0]
    parts = profile.drafting().at_contexts
    expected = at_contexts(traces, [len(prompt) for prompt in texts], GAMMA)
    assert len(parts) == len(expected) > 1
    for part, other in zip(parts, expected, strict=True):
        assert part.first <= other.first <= part.context <= other.last <= part.last
        assert abs(part.context - other.context) <= 1
        assert part.alpha == other.alpha
        for gamma, blocks in other.blocks.items():
            assert part.blocks[gamma] == pytest.approx(blocks)


def test_the_mean_over_sampled_texts_is_the_acceptance(tmp_path: Path) -> None:
    """A copied token y is accepted with the target's probability p(y).

    The bound is 4 standard errors: a false alarm in 16,000 runs.
    """
    law = np.array([0.5, 0.3, 0.2])
    outputs = np.random.default_rng(1).choice(3, p=law, size=(100, 50)).tolist()
    prompt, chances = [0, 1, 2], []
    for output in outputs:
        index = Matches(1)
        for place in range(len(output)):
            index.update([*prompt, *output[:place]])
            chances += [law[token] for token in index.continuation(1)]
    lines = [{"prompt": prompt, "output": output} for output in outputs]
    alpha = measured(written(tmp_path / "log.jsonl", lines), drafts=("lookup:1",))[0].alpha
    expected = np.sum(chances) / 5000
    error = np.sqrt(np.sum(np.multiply(chances, np.subtract(1, chances)))) / 5000
    assert abs(alpha.value - expected) < 4 * error


def test_sharing_a_log_changes_no_count(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "PART_BYTES", 700)
    alone = measured(many, drafts=("suffix",))[0]
    shared = measured(many, drafts=("suffix",), processes=2)[0]
    assert alone.draftings == shared.draftings
    assert alone.alpha.prompts == 60


def test_an_interrupted_measurement_goes_on(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PART_BYTES", 700)
    output = tmp_path / "profile.json"
    whole = measured(many)[0].draftings
    counted = 0

    class Killed:
        def expect(self, steps: int) -> None: ...

        def step(self, count: int = 1) -> None:
            nonlocal counted
            counted += count
            if counted == 3:
                raise KeyboardInterrupt

    request = MeasureTexts(
        texts=many, drafts=("lookup",), max_gamma=GAMMA, processes=1, output=output
    )
    with pytest.raises(KeyboardInterrupt):
        measure(request, Killed())
    kept = tmp_path / "profile.json.texts.part"
    assert len(kept.read_bytes().splitlines()) == 4
    # A torn line, as a killed process leaves it.
    kept.write_bytes(kept.read_bytes() + b'{"texts":')
    encoded = log.encoded

    def once(part: log.LogPart, tokenizer: Any) -> Any:
        assert part[0] > 1  # what was kept is not counted again
        return encoded(part, tokenizer)

    monkeypatch.setattr("estimator.texts.counting.encoded", once)
    assert measure(request)[0].draftings == whole
    assert read_profile(output).draftings == whole
    assert not kept.exists()


def test_many_texts_are_kept_as_groups() -> None:
    whole, most = Totals(), MOST_NUMBERS
    for _ in range(5):
        whole += Totals(most, [1] * most, [2] * most, [[[1, 2]]] * most, [2] * most)
    assert (whole.texts, sum(whole.hits), sum(whole.tokens)) == (5 * most, 5 * most, 10 * most)
    assert len(whole.hits) <= most
    assert np.size(whole.blocks) <= most
    assert np.sum(whole.blocks, axis=0).tolist() == [[5 * most, 10 * most]]
    assert (len(whole.block_tokens), sum(whole.block_tokens)) == (len(whole.blocks), 10 * most)


GOOD = {"prompt": [1, 2], "output": [1, 2, 1, 2]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops", "line 2: must be a JSON object with prompt and output, got: "),
        ("[1, 2]", "line 2: must be a JSON object with prompt and output, got: "),
        ('{"prompt": "a"}', "Object missing required field `output`"),
        ('{"prompt": [1], "output": [1.5]}', "line 2: must be a JSON object"),
        ('{"prompt": [1], "output": []}', "line 2: output must not be empty, got none"),
        ('{"prompt": [1], "output": ""}', "line 2: output must not be empty, got none"),
        ('{"prompt": [1], "output": "\\ud800"}', "line 2: "),
        ('{"prompt": [1], "output": [2, -1]}', "line 2: output must be ids of at least 0, got -1"),
        ('{"prompt": [9999], "output": [2]}',
         "line 2: prompt must be ids of the tokenizer, below 2048, got 9999"),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_by_its_number_or_left_out(
    line: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    good = json.dumps(GOOD)
    path.write_text(f"{good}\n{line}\n\n{good}\n")
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        measured(path, tokenizer="embedded")
    profile, counts = measured(path, tokenizer="embedded", skip_bad_lines=True)
    assert (counts.skipped, profile.alpha.prompts) == (1, 2)
    assert "line 2: " in counts.first_skipped


def test_texts_are_encoded_by_the_tokenizer(tmp_path: Path) -> None:
    from estimator.loading.folders import load_named_tokenizer

    tokenizer = load_named_tokenizer("embedded")
    text = {"prompt": "def f(x):\n    return x\n", "output": "def g(x):\n    return x\n"}
    ids = {name: tokenizer(value)["input_ids"] for name, value in text.items()}
    as_text, as_ids = (
        measured(written(tmp_path / f"{name}.jsonl", [line]), tokenizer="embedded")[0]
        for name, line in (("text", text), ("ids", ids))
    )
    assert as_text.draftings == as_ids.draftings
    with pytest.raises(ValueError, match="line 1: prompt is text, which needs --tokenizer"):
        measured(tmp_path / "text.jsonl")


def test_a_table_is_read_as_lines_are(many: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").Table.from_pylist(
        [json.loads(line) for line in many.read_text().splitlines()]
    )
    parquet.write_table(table, tmp_path / "log.parquet")
    assert measured(tmp_path / "log.parquet")[0].draftings == (measured(many)[0].draftings)
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises(ValueError, match="texts must be a Parquet file"):
        measured(tmp_path / "no.parquet")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"drafts": ("random",)}, "draft must be lookup, suffix or ngram with texts, got random"),
        ({"drafts": ("lookup", "suffix")}, "draft must be given once with texts, got 2"),
        ({"drafts": ("ngram",)}, "draft ngram needs the tokenizer of the texts, got none"),
        ({"drafts": ("suffix:1",)}, r"draft suffix:N needs an N in 2\.\.256, got 'suffix:1'"),
        ({"drafts": ("suffix:-3",)}, r"draft suffix:N needs a positive integer N, got 'suffix:-3'"),
        ({"drafts": ("suffix:8:",)}, "draft suffix:N: needs a file after the colon, got 'suffix:8"),
        ({"drafts": ("suffix:none",)}, "draft suffix:FILE must be an existing file, got none"),
    ],
)
def test_requests_that_cannot_be_measured_are_refused(
    given: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        measured(written(tmp_path / "log.jsonl", [GOOD]), **given)


def test_impossible_earlier_outputs_are_refused(tmp_path: Path) -> None:
    path, earlier = written(tmp_path / "log.jsonl", [GOOD]), tmp_path / "earlier.jsonl"
    for text, message in (
        ("", "draft suffix:FILE must hold an output, got none in"),
        ('{"prompt": [1], "output": [-1]}', "earlier.jsonl line 1: output must be ids of at least"),
    ):
        earlier.write_text(text)
        with pytest.raises(ValueError, match=message):
            measured(path, drafts=(f"suffix:{earlier}",))
    with pytest.raises(ValueError, match="must not be read from the texts that it drafts for"):
        measured(path, drafts=(f"suffix:{path}",))


def test_the_last_outputs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("estimator.prompts.logs.MOST_TOKENS", 5)
    lines = [{"prompt": [9], "output": [number] * 3} for number in range(4)]
    path = written(tmp_path / "log.jsonl", [*lines, {"prompt": [], "output": [7, 8]}])
    assert earlier_outputs(path, None) == [[3, 3, 3], [7, 8]]
    assert earlier_outputs(written(path, [{"prompt": [], "output": list(range(9))}]), None) == [
        [4, 5, 6, 7, 8]
    ]


def test_a_log_without_a_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("\n")
    with pytest.raises(ValueError, match="texts must hold a line, got none in"):
        measured(tmp_path / "log.jsonl")
    with pytest.raises(ValueError, match="texts must be an existing file, got"):
        measured(tmp_path / "none.jsonl")
