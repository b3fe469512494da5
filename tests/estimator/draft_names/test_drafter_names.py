"""Drafters as a user names them."""

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from estimator.draft_names.composed import Hierarchy, Tree
from estimator.draft_names.copying import Lookup
from estimator.draft_names.kind import (
    DrafterKind,
    LoadContext,
    drafter_forms,
    drafter_kinds,
    parse_drafter,
)
from estimator.draft_names.models import Eagle3Name, EarlyExit, Embedded, HuggingFace, MtpName
from estimator.draft_names.ngram import LookupOrNgram, Ngram, Random
from estimator.settings import ModelSettings
from reference.models.embedded import weights_folder
from studies.blockwise.draft_names.heads import HeadsName


@pytest.mark.parametrize(
    ("text", "drafter"),
    [
        ("embedded", Embedded()),
        ("random", Random()),
        ("ngram", Ngram()),
        ("ngram:a/b.arpa", Ngram("a/b.arpa")),
        ("ngram:C:x.arpa", Ngram("C:x.arpa")),
        ("lookup", Lookup(3)),
        ("lookup:2", Lookup(2)),
        ("lookup:vllm", Lookup(5, 5, earliest=True)),
        ("lookup:vllm:2-3", Lookup(3, 2, earliest=True)),
        ("exit:4", EarlyExit(4)),
        ("hf:embedded", HuggingFace("embedded")),
        ("hf:Qwen/Qwen3-0.6B", HuggingFace("Qwen/Qwen3-0.6B")),
        ("Qwen/Qwen3-0.6B", HuggingFace("Qwen/Qwen3-0.6B")),
        ("./folder", HuggingFace("./folder")),
        ("g++:folder", HuggingFace("g++:folder")),
        ("lookup+ngram", LookupOrNgram(Lookup(), Ngram())),
        ("lookup:2+ngram:a+b.arpa", LookupOrNgram(Lookup(2), Ngram("a+b.arpa"))),
        ("heads", HeadsName()),
        ("heads:a/b", HeadsName("a/b")),
        ("heads*4", HeadsName(drafts=4)),
        ("heads+ngram", HeadsName(rescorer=Ngram())),
        ("heads:x+hf:N", HeadsName("x", HuggingFace("N"))),
        ("heads+embedded", HeadsName(rescorer=Embedded())),
        ("heads:x+ngram:4.arpa*16", HeadsName("x", Ngram("4.arpa"), 16)),
        ("a via lookup", Hierarchy(HuggingFace("a"), Lookup())),
        (
            "exit:8 via:3 embedded  via lookup:2",
            Hierarchy(EarlyExit(8), Hierarchy(Embedded(), Lookup(2)), 3),
        ),
        ("embedded via lookup+ngram", Hierarchy(Embedded(), LookupOrNgram(Lookup(), Ngram()))),
        ("via", HuggingFace("via")),
        ("embedded tree:-1,-1,0", Tree(Embedded(), (-1, -1, 0))),
        ("eagle3:folder tree:-1", Tree(Eagle3Name("folder"), (-1,))),
        ("a b  tree:-1", Tree(HuggingFace("a b"), (-1,))),
        ("tree:-1", HuggingFace("tree:-1")),
        ("eagle3:some/head", Eagle3Name("some/head")),
        ("mtp", MtpName()),
    ],
)
def test_names_are_read_as_written(text: str, drafter: DrafterKind) -> None:
    assert parse_drafter(text) == drafter


@pytest.mark.parametrize(
    "text", ["ngram:a.arpa", "eagle3:a", "exit:4", "hf:a/b", "suffix:9:a", "suffix", "lookup:2",
             "embedded", "heads:x+ngram:4.arpa*16", "heads+hf:N"],
)  # fmt: skip
def test_a_name_is_shown_as_it_was_given(text: str) -> None:
    assert str(parse_drafter(text)) == text


def test_help_lists_the_names_of_every_kind() -> None:
    forms = drafter_forms()
    assert forms.endswith(", or a Hugging Face name or folder")
    assert all(form in forms for kind in drafter_kinds() for form in kind.names)
    assert all(kind.names for kind in drafter_kinds())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must name a drafter, got an empty name"),
        ("  ", "must name a drafter, got an empty name"),
        ("embedded:x", "embedded takes no value, got 'embedded:x'"),
        ("random:", "random takes no value"),
        ("exit", "exit: needs a value after the colon, got 'exit'"),
        ("exit:", "exit: needs a value"),
        ("exit:0", "exit:N needs a positive integer N, got 'exit:0'"),
        ("exit:-1", "positive integer"),
        ("exit:1.5", "positive integer"),
        ("lookup:", "lookup: needs a value"),
        ("lookup:vllm:3-2", "needs lengths of a match in 1..64, the smaller first, got"),
        ("lookup:vllm:0-2", "needs lengths of a match in 1..64"),
        ("lookup:vllm:5", "needs lengths of a match in 1..64"),
        ("lookup:vllm+ngram", "needs lengths of a match in 1..64"),
        ("lookup:x", "lookup:N needs a positive integer N, got 'lookup:x'"),
        ("lookup:400", "lookup:N needs an N of at most 64, got 'lookup:400'"),
        ("ngram:", "ngram: needs a value"),
        ("hf:", "hf: needs a value"),
        ("eagle3:", "draft eagle3: needs a value after the colon"),
        ("mtp:2", "draft mtp takes no value, got 'mtp:2'"),
        ("lookup:0+ngram", "positive integer"),
        ("lookup+ngram:", "ngram: needs a value"),
        ("heads:", "heads: needs a value after the colon, got 'heads:'"),
        ("heads*0", "heads*P needs a positive integer P, got 'heads*0'"),
        ("heads*x", "heads*P needs a positive integer P"),
        ("heads+", "must name a drafter, got an empty name"),
        ("heads+lookup", "needs one of embedded, ngram, hf, got 'heads+lookup'"),
        ("heads+hf:N*4", "needs an n-gram to find the P best paths, got 'heads+hf:N*4'"),
        ("lookup via ngram", "A via B needs a model as A, got 'lookup'"),
        ("embedded via ngram via lookup", "A via B needs a model as A, got 'ngram'"),
        ("embedded via:0 lookup", "via:N needs a positive integer N, got 'embedded via:0 lookup'"),
        ("embedded via: lookup", "via:N needs a positive integer N"),
        ("embedded via heads", "takes no heads as B, the target's own, got 'embedded via heads'"),
        ("heads via lookup", "A via B needs a model as A, got 'heads'"),
        ("embedded via exit", "exit: needs a value after the colon, got 'exit'"),
        ("lookup tree:-1", "A tree:PARENTS needs a model, or a head that drafts token after "),
        ("embedded via ngram tree:-1", "token after token, as A, got 'ngram'"),
        ("embedded via eagle3 tree:-1", "A via B takes no eagle3 as B, the target's own"),
        ("embedded tree:-1 via ngram", "A via B needs a model as A, got 'embedded tree:-1'"),
        ("embedded tree:", "tree:PARENTS needs integers as PARENTS, got ''"),
        ("embedded tree:-1,x", "tree:PARENTS needs integers as PARENTS, got '-1,x'"),
        ("embedded tree:-1,1", "parents must be earlier nodes or -1, got 1 for node 1"),
        ("embedded tree:-2", "parents must be at least -1, got -2"),
        ("embedded tree:" + ",".join(["-1"] * 257), "takes at most 256 of them, got 257"),
    ],
)
def test_unusable_names_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_drafter(text)


def test_the_embedded_head_is_in_the_layout_that_servers_load() -> None:
    [folder] = parse_drafter("eagle3").own_files
    assert folder == weights_folder("eagle3")
    files = [folder / name for name in ("config.json", "model.safetensors", "training.json")]
    assert sum(path.stat().st_size for path in files) < 3e6


def test_the_embedded_head_drafts_for_its_target_alone() -> None:
    with pytest.raises(ValueError, match="draft eagle3 needs the embedded target, got other"):
        parse_drafter("eagle3").require("other", tokenizer=None, settings=ModelSettings())


def test_a_head_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    """Its own is read where it has one, as those that servers load often do."""
    own = AutoTokenizer.from_pretrained(weights_folder("target"))
    drafter = parse_drafter(f"eagle3:{tmp_path}")
    own.save_pretrained(tmp_path)
    drafter.require("embedded", tokenizer=own, settings=ModelSettings())
    other = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))
    PreTrainedTokenizerFast(tokenizer_object=other).save_pretrained(tmp_path)
    with pytest.raises(
        ValueError,
        match=r"must share one tokenizer, got embedded with 2048 tokens and eagle3:.* with 2$",
    ):
        drafter.require("embedded", tokenizer=own, settings=ModelSettings())


def test_a_model_that_verifies_blocks_has_passes_over_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: dict[str, Sequence[int]] = {}

    def passes(draft: Any, /, *, widths: Sequence[int] = ()) -> Any:
        compiled[draft] = widths
        return draft

    for kind in (Embedded, EarlyExit):
        monkeypatch.setattr(kind, "model", lambda drafter, context: drafter.prefix)
    target: Any = SimpleNamespace(vocabulary=5)
    context = LoadContext(target, None, ModelSettings(), passes)
    parse_drafter("exit:2 via:3 embedded via:6 lookup").load(context)
    assert compiled == {"exit": (1, 2, 4), "embedded": (1, 2, 7)}
