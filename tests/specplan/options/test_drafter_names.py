"""Drafters as a user names them."""

import re

import pytest

from specplan.options.drafter_names import DrafterName, parse_drafter


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("embedded", DrafterName("embedded", None)),
        ("random", DrafterName("random", None)),
        ("ngram", DrafterName("ngram", None)),
        ("ngram:a/b.arpa", DrafterName("ngram", "a/b.arpa")),
        ("ngram:C:x.arpa", DrafterName("ngram", "C:x.arpa")),
        ("lookup", DrafterName("lookup", None)),
        ("lookup:2", DrafterName("lookup", "2")),
        ("exit:4", DrafterName("exit", "4")),
        ("hf:embedded", DrafterName("hf", "embedded")),
        ("hf:Qwen/Qwen3-0.6B", DrafterName("hf", "Qwen/Qwen3-0.6B")),
        ("Qwen/Qwen3-0.6B", DrafterName("hf", "Qwen/Qwen3-0.6B")),
        ("./folder", DrafterName("hf", "./folder")),
        ("g++:folder", DrafterName("hf", "g++:folder")),
        ("lookup+ngram", DrafterName("lookup", None, DrafterName("ngram", None))),
        ("lookup:2+ngram:a+b.arpa", DrafterName("lookup", "2", DrafterName("ngram", "a+b.arpa"))),
        ("heads", DrafterName("heads", None)),
        ("heads:a/b", DrafterName("heads", "a/b")),
        ("heads*4", DrafterName("heads", None, drafts=4)),
        ("heads+ngram", DrafterName("heads", None, rescored_by=DrafterName("ngram", None))),
        ("heads:x+hf:N", DrafterName("heads", "x", rescored_by=DrafterName("hf", "N"))),
        ("heads+embedded", DrafterName("heads", None, rescored_by=DrafterName("embedded", None))),
        (
            "heads:x+ngram:4.arpa*16",
            DrafterName("heads", "x", rescored_by=DrafterName("ngram", "4.arpa"), drafts=16),
        ),
        ("a via lookup", DrafterName("hf", "a", via=DrafterName("lookup", None))),
        (
            "exit:8 via:3 embedded  via lookup:2",
            DrafterName(
                "exit",
                "8",
                via=DrafterName("embedded", None, via=DrafterName("lookup", "2")),
                via_gamma=3,
            ),
        ),
        (
            "embedded via lookup+ngram",
            DrafterName(
                "embedded", None, via=DrafterName("lookup", None, DrafterName("ngram", None))
            ),
        ),
        ("via", DrafterName("hf", "via")),
        ("embedded tree:-1,-1,0", DrafterName("embedded", None, tree=(-1, -1, 0))),
        ("a b  tree:-1", DrafterName("hf", "a b", tree=(-1,))),
        ("tree:-1", DrafterName("hf", "tree:-1")),
    ],
)
def test_names_are_read_as_written(text: str, name: DrafterName) -> None:
    assert parse_drafter(text) == name


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
        ("lookup:x", "lookup:N needs a positive integer N, got 'lookup:x'"),
        ("lookup:400", "lookup:N needs an N of at most 64, got 'lookup:400'"),
        ("ngram:", "ngram: needs a value"),
        ("hf:", "hf: needs a value"),
        ("lookup:0+ngram", "positive integer"),
        ("lookup+ngram:", "ngram: needs a value"),
        ("heads:", "heads: needs a value after the colon, got 'heads:'"),
        ("heads*0", "heads*P needs a positive integer P, got 'heads*0'"),
        ("heads*x", "heads*P needs a positive integer P"),
        ("heads+", "must name a drafter, got an empty name"),
        ("heads+lookup", "needs ngram, ngram:FILE, embedded or hf:NAME, got 'heads+lookup'"),
        ("heads+hf:N*4", "needs an n-gram to find the P best paths, got 'heads+hf:N*4'"),
        ("lookup via ngram", "A via B needs a model as A, got 'lookup'"),
        ("embedded via ngram via lookup", "A via B needs a model as A, got 'ngram'"),
        ("embedded via:0 lookup", "via:N needs a positive integer N, got 'embedded via:0 lookup'"),
        ("embedded via: lookup", "via:N needs a positive integer N"),
        ("embedded via heads", "takes no heads as B, the target's own, got 'embedded via heads'"),
        ("heads via lookup", "A via B needs a model as A, got 'heads'"),
        ("embedded via exit", "exit: needs a value after the colon, got 'exit'"),
        ("lookup tree:-1", "A tree:PARENTS needs a model as A, got 'lookup'"),
        ("embedded via ngram tree:-1", "needs a model as A, got 'embedded via ngram'"),
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


def test_a_number_is_there_where_one_was_given() -> None:
    assert parse_drafter("lookup:12").number == 12
    assert parse_drafter("lookup").number is None
