"""Drafting with an EAGLE-3 head: lossless, on any family, and scored as it drafts."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

import reference.drafter
from reference.drafters.state_head import StateHeadDrafter
from reference.drafters.trees import TreeDrafter, without_replacement
from reference.laws import Sampling
from reference.models.cached_model import CachedModel
from reference.policies import Confidence, Fixed, Policy
from reference.records import Stopping
from reference.state_heads.eagle3_folder import load_eagle3
from tests.reference.decoding import alone, require_accepted, scored, speculate
from tests.reference.eagle3_laboratory import random_tensors, safeailabs, tiny_target, written
from tests.reference.enumeration import STRICT_ACCEPTANCE, own_law, require_equal, walk_choices
from tests.reference.plain_laws import plain_law
from tests.reference.test_decoder_architectures import random_prompt, saved_pair

GREEDY = Sampling(0.0)


def tapped(target: CachedModel) -> dict[str, list[int]]:
    """Returns a head's setting of the states that it reads: from the first to the last."""
    last = target.module.config.num_hidden_layers
    return {"eagle_aux_hidden_state_layer_ids": [0, 1, last]}


def head_drafter(
    target: CachedModel, sampling: Sampling, folder: Path, *, drafted: int
) -> StateHeadDrafter:
    """Returns a drafter with a random head, which drafts some of the target's ids."""
    vocabulary = target.vocabulary
    tensors = random_tensors(vocabulary=vocabulary, drafted=drafted)
    written(folder, safeailabs(vocabulary, drafted, **tapped(target)), tensors)
    head = load_eagle3(folder, target.module, name=target.name)
    return StateHeadDrafter(target, head, sampling, name="eagle3")


@pytest.mark.parametrize("architecture", ["Llama", "Qwen3", "Gemma2", "GPTNeoX"])
def test_greedy_ids_are_the_targets_own_and_the_scores_tell_its_calls(
    architecture: str, tmp_path: Path
) -> None:
    target, _ = saved_pair(architecture, tmp_path, 0, num_hidden_layers=2)
    drafter = head_drafter(target, GREEDY, tmp_path / "head", drafted=20)
    stopping = Stopping(16)
    for length in (1, 17):
        prompt = random_prompt(length, 0)
        own = alone(target, prompt, GREEDY, stopping).tokens
        for gamma in (1, 4):
            found = speculate(target, drafter, prompt, GREEDY, Fixed(gamma), stopping)
            assert found.tokens == own
            # One-hot drafts are accepted while they equal the text: scores show each block's end.
            scores = scored(target, drafter, prompt, own, gamma, GREEDY)
            assert scores.drafted is not None
            place = 0
            for block in found.blocks:
                most = min(gamma, len(own) - place - 1, int(scores.drafted[place]))
                stands = 0
                while stands < most and scores.ratio[place + stands, stands] == 1:
                    stands += 1
                assert (block.accepted, len(block.drafted)) == (stands, most)
                place += len(block.tokens)


CHAIN, TREE = None, (-1, -1, 0, 1, 1)


@pytest.mark.parametrize(
    ("sampling", "drafting", "policy", "new_tokens", "shape"),
    [
        (Sampling(), Sampling(), Fixed(2), 3, CHAIN),
        (Sampling(0.7, top_p=0.9), Sampling(0.7, top_p=0.9), Fixed(2), 3, CHAIN),
        (Sampling(), Sampling(0.0), Fixed(2), 4, CHAIN),
        (Sampling(1.3, top_k=2), Sampling(2.0), Confidence(0.6, most=2), 3, CHAIN),
        (Sampling(), Sampling(), Fixed(2), 3, TREE),
        (Sampling(0.7, top_p=0.9), Sampling(0.0), Fixed(2), 3, TREE),
    ],
    ids=str,
)
def test_law_of_texts_drafted_by_a_head_is_the_targets(
    sampling: Sampling,
    drafting: Sampling,
    policy: Policy,
    new_tokens: int,
    shape: tuple[int, ...] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tiny_target(3)
    head = head_drafter(target, drafting, tmp_path, drafted=2)
    drafter = head if shape is None else TreeDrafter(head, shape, without_replacement)
    prompt = (0, 1)

    def table(text: tuple[int, ...]) -> list[float]:
        with torch.inference_mode():
            logits = target.module(input_ids=torch.tensor([list(text)])).logits[0, -1]
        return plain_law(logits.softmax(-1).tolist(), sampling, text)

    expected = own_law(lambda text: table(tuple(text)), prompt, new_tokens=new_tokens)

    def run() -> tuple[int, ...]:
        return speculate(target, drafter, prompt, sampling, policy, Stopping(new_tokens)).tokens

    law = walk_choices(monkeypatch, STRICT_ACCEPTANCE).law(run)
    require_equal(law, expected, tolerance=1e-9)


@pytest.mark.parametrize("architecture", ["Llama", "Qwen3"])
def test_greedy_ids_of_trees_are_the_targets_own_and_the_scores_tell_its_calls(
    architecture: str, tmp_path: Path
) -> None:
    target, _ = saved_pair(architecture, tmp_path, 0, num_hidden_layers=2)
    # As wide as what the head drafts: paths go three tokens deep.
    parents = (*[-1] * 20, *[3] * 20, *[19] * 20, *[20] * 20, *[45] * 20)
    head = head_drafter(target, GREEDY, tmp_path / "head", drafted=20)
    drafter = TreeDrafter(head, parents)
    accepted: list[int] = []
    for length in (1, 5):
        prompt = random_prompt(length, 0)
        own = alone(target, prompt, GREEDY, Stopping(24)).tokens
        found = speculate(target, drafter, prompt, GREEDY, Fixed(3), Stopping(24))
        assert found.tokens == own
        require_accepted(found, scored(target, drafter, prompt, own, 3, GREEDY), 3)
        accepted += [block.accepted for block in found.blocks]
    assert max(accepted) > 0


def test_laws_in_a_tree_are_those_of_each_of_its_paths(tmp_path: Path) -> None:
    target = tiny_target(7)
    drafter = head_drafter(target, Sampling(), tmp_path, drafted=5)
    text = [2, 5, 1, 4]
    target.start(text)
    drafter.start(text[:2], text)
    tokens, parents = torch.tensor([1, 3, 2, 6, 0]), (-1, -1, 0, 1, 1)
    levels = [[0, 1], [2, 3, 4]]

    def logits(tokens: Tensor, parents: Sequence[int], levels: list[list[int]]) -> Tensor:
        assert drafter.begin_tree(text, 3) is not None
        return torch.cat([drafter.deepen(text, tokens, parents, level) for level in levels])

    found = logits(tokens, parents, levels)
    for row, path in enumerate([[0], [1], [0, 2], [1, 3], [1, 4]]):
        alone_along = logits(tokens[path], range(-1, 1), [[place] for place in range(len(path))])
        torch.testing.assert_close(found[row], alone_along[-1], rtol=1e-9, atol=1e-9)
    assert len({tuple(row) for row in found.tolist()}) == 5


@pytest.mark.parametrize("stretch", [2, 3, 40])
def test_scores_are_those_of_each_block_drafted_alone(
    stretch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block begun where it may, its tokens forced to be the text's."""
    target, sampling, reach = tiny_target(7), Sampling(), 4
    drafter = head_drafter(target, sampling, tmp_path, drafted=5)
    prompt = [2, 5, 1]
    generator = torch.Generator().manual_seed(1)
    own = alone(target, prompt, sampling, Stopping(9), generator=generator).tokens
    monkeypatch.setattr(reference.drafter, "ROW_NUMBERS", 7 * stretch)
    scores = scored(target, drafter, prompt, own, reach, sampling, leniences=[0.5])
    assert scores.drafted is not None
    assert scores.drafted.tolist() == [reach] * len(own)
    whole = [*prompt, *own]

    for begun in range(len(prompt), len(whole)):
        target.start(whole[:begun])
        drafter.start(prompt, whole[:begun])
        forced = iter(whole[begun:])
        monkeypatch.setattr(
            "reference.laws.Dense.draw",
            lambda law, generator, forced=forced: torch.tensor([next(forced)]),
        )
        most = min(reach, len(whole) - begun)
        draft = drafter.propose(whole[:begun], most, Fixed(most), torch.Generator())
        assert draft.tokens.tolist() == whole[begun : begun + most]
        with torch.inference_mode():
            p = target.module(input_ids=torch.tensor([whole])).logits[0].softmax(-1)
        q = draft.q.dense(7)
        for offset in range(most):
            place = begun + offset
            ratio = float(q[offset, whole[place]] / p[place - 1, whole[place]])
            found = float(scores.ratio[place - len(prompt), offset])
            assert found == pytest.approx(ratio, rel=1e-9)
        shared = float(torch.minimum(p[begun - 1], q[0]).sum())
        assert float(scores.beta[begun - len(prompt)]) == pytest.approx(shared, rel=1e-9)
