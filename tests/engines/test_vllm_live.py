"""vLLM started for real, where SPECPLAN_VLLM names its interpreter (scripts/install_vllm.sh)."""

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from engines.counting import Counts
from engines.engine import EngineRun, Setting
from engines.observing.vllm import TURNS_ON
from engines.servers.vllm import Vllm, VllmServer
from engines.sources import observe
from engines.text_scores import acceptance, engine_scorer, local_scorer
from reference.drafters.state_head import StateHeadDrafter
from reference.laws import Sampling
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_model
from reference.policies import Fixed
from reference.records import Stopping
from reference.state_heads.eagle3_folder import load_eagle3
from simulator.acceptance.replay import Replay
from specplan.main import main
from tests.engines.engine_pairs import DRAFT, TARGET, embedded_ids, run_of
from tests.reference.decoding import speculate

pytestmark = pytest.mark.skipif(
    "SPECPLAN_VLLM" not in os.environ, reason="needs SPECPLAN_VLLM, an interpreter that has vLLM"
)
PROMPTS = embedded_ids(count=2)
TOKENS, GAMMA = 24, 2

SERVER = (os.environ.get("SPECPLAN_VLLM", ""), "-m", "vllm.entrypoints.openai.api_server")


@contextmanager
def serving_variables() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vllm]:
    """Returns vLLM with the embedded pair; the draft's folder also has the tokenizer's files."""
    draft = tmp_path_factory.mktemp("draft")
    for path in [*Path(DRAFT).iterdir(), *Path(TARGET).glob("tokenizer*.json")]:
        (draft / path.name).symlink_to(path.resolve())
    flags = ["--dtype", "float32", "--enforce-eager", "--max-model-len", "128"]
    with serving_variables():
        yield Vllm(TARGET, str(draft), (*SERVER, *flags))


def texts(server: VllmServer, *, speculative: bool) -> EngineRun:
    return run_of(server, PROMPTS, tokens=TOKENS, speculative=speculative)


def test_vllm_writes_the_targets_text_in_the_steps_that_replay_expects(vllm: Vllm) -> None:
    with vllm.serve(Setting(0)) as server:
        alone = texts(server, speculative=False)
        scored = [
            server.score(prompt, text.tokens)
            for prompt, text in zip(PROMPTS, alone.completions, strict=True)
        ]
    with vllm.serve(Setting(GAMMA)) as server:
        own = texts(server, speculative=True)
        counts, found = server.counts(), observe([server.url], gamma=None)
    pairs = [(prompt, text.tokens) for prompt, text in zip(PROMPTS, own.completions, strict=True)]
    assert [text.tokens for text in own.completions] == [text.tokens for text in alone.completions]
    local = local_scorer(TARGET, DRAFT)(pairs, 1.0)
    for (target, _), told in zip(local, scored, strict=True):
        assert told.ranks.tolist() == target.ranks.tolist()
        assert told.logprobs == pytest.approx(target.logprobs, abs=1e-3)
    chances = [acceptance(*pair, draft_sampling="argmax", temperature=0)[1:] for pair in local]
    steps = round(sum(float(Replay(a).calls(GAMMA)) for a in chances))
    assert own.steps(drafts_past_end=True) == steps
    # The server counted nothing but these texts.
    assert (found.gamma, found.drafts, found.drafted) == (GAMMA, counts.drafts, counts.drafted)
    assert found.hits == counts.by_position == own.total.by_position
    assert found.version == server.version


def every_other_id(folder: Path, head: Path) -> Path:
    """Returns a head that drafts half of a head's ids, with a map of them."""
    tensors = load_file(head / "model.safetensors")
    rows = tensors["lm_head.weight"]
    ids = torch.arange(0, len(rows), 2)
    tensors |= {
        "lm_head.weight": rows[ids].contiguous(),
        "d2t": ids - torch.arange(len(ids)),
        "t2d": torch.zeros(len(rows), dtype=torch.bool).index_fill(0, ids, True),
    }
    save_file(tensors, folder / "model.safetensors")
    sizes = json.loads((head / "config.json").read_text()) | {"draft_vocab_size": len(ids)}
    (folder / "config.json").write_text(json.dumps(sizes))
    return folder


def own_counts(head: Path, text: tuple[int, ...], *, before: int, gamma: int) -> Counts:
    """Returns what this project's decoder counts in greedy text that goes on after `before` ids."""
    target, greedy = load_model(TARGET, device=torch.device("cpu"), dtype="float32"), Sampling(0.0)
    drafter = StateHeadDrafter(
        target, load_eagle3(head, target.module, name="target"), greedy, name="eagle3"
    )
    # A server drafts past a text's end.
    stopping = Stopping(len(text) - before + 2 * gamma)
    made = speculate(target, drafter, text[:before], greedy, Fixed(gamma), stopping)
    assert made.tokens[: len(text) - before] == text[before:]
    begins = accumulate((len(block.tokens) for block in made.blocks), initial=before)
    counted = [b.accepted for b, at in zip(made.blocks, begins, strict=False) if at < len(text)]
    by_position = [sum(count > place for count in counted) for place in range(gamma)]
    return Counts.of(len(counted), gamma * len(counted), by_position)


@pytest.mark.parametrize("ids", ["all", "every other"])
def test_vllm_accepts_as_many_eagle_3_drafts_as_this_decoder(ids: str, tmp_path: Path) -> None:
    head = weights_folder("eagle3")
    if ids != "all":
        head = every_other_id(tmp_path, head)
    drafting = {"method": "eagle3", "model": str(head), "num_speculative_tokens": 4}
    flags = ["--dtype", "float32", "--enforce-eager", "--max-model-len", "128"]
    command = (*SERVER, *flags, TURNS_ON, json.dumps(drafting))
    with serving_variables(), Vllm(TARGET, str(head), command).serve(Setting(0)) as server:
        served = run_of(server, embedded_ids(count=6), tokens=48)
    for prompt, text, counts in zip(
        embedded_ids(count=6), served.completions, served.counts, strict=True
    ):
        # Its pass over the prompt gives the first token.
        assert counts == own_counts(head, (*prompt, *text.tokens), before=len(prompt) + 1, gamma=4)


def test_counts_before_a_restart_of_vllm_are_not_subtracted(vllm: Vllm) -> None:
    observed = []
    for _ in range(2):
        with vllm.serve(Setting(GAMMA)) as server:
            texts(server, speculative=True)
            observed.append(observe([server.url], gamma=None))
    # The same texts: no counter fell, but all restarted.
    assert observed[0].hits == observed[1].hits
    with pytest.raises(ValueError, match="the server was restarted"):
        observed[1].since(observed[0])


def test_two_log_probabilities_of_vllm_give_the_acceptance_of_full_rows(vllm: Vllm) -> None:
    with vllm.serve(Setting(0)) as server:
        sampled = [
            (prompt, server.complete(prompt, max_new_tokens=64, temperature=1.0, seed=0).tokens)
            for prompt in PROMPTS
        ]
    told, local = engine_scorer(vllm)(sampled, 1.0), local_scorer(TARGET, DRAFT)(sampled, 1.0)
    for way in ("argmax", "sampled"):
        for pair, own in zip(told, local, strict=True):
            chances, expected = (
                acceptance(*scores, draft_sampling=way, temperature=1.0) for scores in (pair, own)
            )
            np.testing.assert_allclose(chances, expected, atol=1e-3)


def test_a_validation_on_vllm_predicts_the_steps_that_it_counts(vllm: Vllm) -> None:
    small = ["--num-prompts", "2", "--prompt-tokens", "16", "--max-new-tokens", "16"]
    command = ["--engine", "vllm", "--engine-command", shlex.join(vllm.command), "--laws", "local"]
    rows = ["--gamma", str(GAMMA), "--temperature", "0", "--repeats", "1", *small]
    result = CliRunner().invoke(main, ["validate", *command, *rows, "--json"])
    assert result.exit_code == 0, result.output
    [row] = json.loads(result.stdout)["rows"]
    assert row["identical_to_target"] is True
    assert row["acceptance_explained"] is True
    assert row["predicted_target_calls"] == pytest.approx(row["target_calls"], abs=1e-6)


def test_a_gamma_above_the_limit_of_vllm_is_noticed(vllm: Vllm) -> None:
    # It starts, and drafts no further than its --max-model-len.
    with vllm.serve(Setting(200)) as server:
        own = texts(server, speculative=True)
    assert not own.obeys(200, drafts_past_end=True)
