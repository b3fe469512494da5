"""Drafts that branch: one pass reads each path by itself, accepted tokens stay, and lossless."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers import FalconConfig, FalconForCausalLM

from reference.drafter import Draft, merge_drafts
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.text_tree import require_branching
from reference.policies import Fixed, Policy
from reference.records import Stopping
from reference.rules import STRICT, Lenient
from reference.verify import verify_draft
from tests.reference.combinations import PROMPT, SETTINGS, TARGET, VOCABULARY, table_text
from tests.reference.decoding import alone
from tests.reference.enumeration import own_law, require_equal, walk_choices
from tests.reference.plain_laws import plain_law
from tests.reference.tabular import TabularModel
from tests.reference.test_decoder_architectures import random_prompt, saved_pair

CPU = torch.device("cpu")


class Branches:
    """Drafts all texts of some tokens, or any given ones, as one that branches."""

    name = "branches"
    forward_seconds = 0.0

    def __init__(self, drafts: Sequence[Sequence[int]]) -> None:
        self.drafts = drafts

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        pass

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        shift = len(text) % 3
        return merge_drafts(
            [[(token + shift) % VOCABULARY for token in draft[:limit]] for draft in self.drafts],
            CPU,
        )


FOREST = [[1, 2, 0], [1, 0, 2], [0, 0, 1], [1, 2, 2]]


def test_shared_beginnings_are_held_once() -> None:
    draft = merge_drafts(FOREST, CPU)
    assert draft.tokens.tolist() == [1, 2, 0, 0, 2, 0, 0, 1, 2]
    assert draft.parents == (-1, 0, 1, 0, 3, -1, 5, 6, 1)


@pytest.mark.parametrize("setting", SETTINGS)
def test_law_of_texts_is_the_targets(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sampling = SETTINGS[setting]

    def run() -> tuple[int, ...]:
        return table_text(Branches(FOREST), sampling, Fixed(2), 4).tokens

    law = walk_choices(monkeypatch, {}).law(run)
    expected = own_law(lambda text: plain_law(TARGET(text), sampling, text), PROMPT, new_tokens=4)
    require_equal(law, expected, tolerance=1e-12)


def test_the_longest_path_that_the_target_takes_is_accepted() -> None:
    """Against the naive search: the draft that agrees with the target longest."""
    target = TabularModel(TARGET, VOCABULARY)
    greedy = Sampling(0.0)
    own = alone(target, PROMPT, greedy, Stopping(40)).tokens
    generation = table_text(Branches(FOREST), greedy, Fixed(3), 40)
    assert generation.tokens == own
    at = 0
    lengths = set()
    for block in generation.blocks[:-3]:
        shift = (len(PROMPT) + at) % 3
        longest = 0
        for draft in FOREST:
            moved = [(token + shift) % VOCABULARY for token in draft]
            agreed = 0
            while agreed < 3 and moved[agreed] == own[at + agreed]:
                agreed += 1
            longest = max(longest, agreed)
        assert block.accepted == longest
        assert len(block.drafted) == 3
        at += len(block.tokens)
        lengths.add(longest)
    assert len(lengths) > 1


def test_the_laws_are_those_after_each_accepted_token() -> None:
    lengths = set()
    for seed in range(20):
        target = TabularModel(TARGET, VOCABULARY)
        target.start(PROMPT)
        verified = verify_draft(
            target,
            merge_drafts(FOREST, CPU),
            PROMPT,
            drafter_name="branches",
            sampling=Sampling(),
            rule=STRICT,
            generator=torch.Generator().manual_seed(seed),
        )
        texts = [[*PROMPT, *verified.drafted[:count]] for count in range(verified.accepted + 1)]
        expected = torch.tensor([TARGET(text) for text in texts])
        torch.testing.assert_close(verified.p.dense(VOCABULARY), expected, check_dtype=False)
        lengths.add(verified.accepted)
    assert len(lengths) > 2


BRANCHING = ["Llama", "Qwen3", "GPTNeoX", "GPT2"]


@pytest.mark.parametrize("architecture", BRANCHING)
def test_a_tree_is_read_and_kept_as_each_of_its_paths(architecture: str, tmp_path: Path) -> None:
    model, _ = saved_pair(architecture, tmp_path, 1)
    require_branching(model)
    prompt = random_prompt(6, 2)
    tree = merge_drafts([[4, 5, 6], [4, 7, 8], [9, 5, 1]], CPU)
    assert tree.parents is not None
    parents = [-1, *(1 + parent for parent in tree.parents)]
    for path, places in [((4, 7, 8), (0, 1, 4, 5)), ((4, 5, 6), (0, 1, 2, 3)), ((9,), (0, 6))]:
        model.start(prompt)
        logits = model.extend(torch.cat([torch.tensor(prompt[-1:]), tree.tokens]), parents)
        model.keep(len(prompt) - 1, places)
        after = model.extend(torch.tensor([3, 2]))
        state = model.state(len(prompt) + len(path) - 1)
        model.start(prompt)
        alone = model.extend(torch.tensor([prompt[-1], *path]))
        torch.testing.assert_close(logits[list(places)], alone, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(after, model.extend(torch.tensor([3, 2])), atol=1e-4, rtol=1e-4)
        own = model.state(len(prompt) + len(path) - 1)
        assert state is not None
        assert own is not None
        torch.testing.assert_close(state, own, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("architecture", "reason"), [("Mistral", "sliding windows"), ("Bloom", "its own counting")]
)
def test_models_that_a_mask_does_not_rule_are_refused(
    architecture: str, reason: str, tmp_path: Path
) -> None:
    model, _ = saved_pair(architecture, tmp_path, 1)
    with pytest.raises(ValueError, match=f"reads a tree by an attention mask, got .*{reason}"):
        require_branching(model)


def test_falcon_is_refused_where_it_counts_by_alibi() -> None:
    config = FalconConfig(
        vocab_size=10, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, alibi=True
    )
    model = CausalModel(FalconForCausalLM(config), "falcon")
    with pytest.raises(ValueError, match=r"got falcon .falcon. with positions of its own"):
        require_branching(model)


def test_a_model_that_misreads_a_tree_is_refused() -> None:
    class Misreading(TabularModel):
        """Each token sees all before it."""

        def extend(
            self, tokens: torch.Tensor, parents: Sequence[int] | None = None
        ) -> torch.Tensor:
            return super().extend(tokens)

    with pytest.raises(ValueError, match="got table, whose logits then change by"):
        require_branching(Misreading(TARGET, VOCABULARY))


def test_a_lossy_rule_cannot_judge_a_draft_that_branches() -> None:
    with pytest.raises(ValueError, match="a draft that branches needs the strict rule, got"):
        table_text(Branches(FOREST), Sampling(), Fixed(2), 4, rule=Lenient(0.5))
