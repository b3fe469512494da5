"""`specplan heads analyse`: what blockwise heads draft, before and after rescoring."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from specplan.options.json_option import json_option
from specplan.options.model_options import ModelOptions, model_options
from specplan.options.requests import Command
from specplan.reports.output import print_json, warn


@click.command("analyse", cls=Command, short_help="Analyse drafts of heads, rescored or not.")
@model_options
@click.option(
    "--ngram",
    "ngrams",
    multiple=True,
    metavar="FILE",
    help="An n-gram model that rescores; repeatable.  [default: the embedded trigram]",
)
@click.option(
    "--neural",
    metavar="MODEL",
    help="A small model that rescores: embedded, or a name or folder.  [default: embedded with "
    "the embedded target, else none]",
)
@click.option(
    "--tuning-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    help="Share of the prompts on which the rescorers' weights are chosen.",
)
@json_option
def analyse_command(
    options: ModelOptions,
    ngrams: tuple[str, ...],
    neural: str | None,
    tuning_share: float,
    as_json: bool,
) -> None:
    """Analyse blockwise drafts as Kim et al. 2024 do, on greedy texts of the target.

    Repetition, entropy by head, block efficiency of the heads' own drafts, of rescored and
    parallel ones and of the oracle, each with its interval over prompts.

    \b
    Example:
      specplan heads analyse
      specplan heads analyse --target T --draft heads:heads/ --ngram 4gram.arpa --prompts my.jsonl
    """
    from msgspec import to_builtins
    from tqdm import tqdm

    from estimator.drafters.kind import EMBEDDED, Beside, ModelKind, Needs
    from estimator.drafters.ngram import Ngram
    from estimator.drafters.registry import parse_drafter
    from estimator.loading.pairs import load
    from reference.models.tree_mask import require_branching
    from specplan.reports.blockwise import report
    from studies.blockwise.analysis import Rescorers, analyse
    from studies.blockwise.drafter import HeadsDrafter
    from studies.blockwise.lattice.automaton import Automaton
    from studies.blockwise.lattice.lattice import require_arcs
    from studies.blockwise.texts import block_text
    from studies.drafters.heads import Heads, lattice_k

    drafts = options.drafts or ("heads",)
    heads = parse_drafter(drafts[0])
    if len(drafts) > 1 or not isinstance(heads, Heads) or not heads.alone:
        raise ValueError(f"draft must be heads or heads:FOLDER, got {' '.join(drafts)}")
    k = lattice_k(options.lattice_k)
    by = [Ngram(file) for file in ngrams or (None,)]
    if not ngrams and options.target not in (None, EMBEDDED):
        by = []
    loaded = load(replace(options.models, drafts=drafts, lattice_k=None), options.text)
    drafter = loaded.drafters[drafts[0]](options.settings.at(0.0))
    assert isinstance(drafter, HeadsDrafter)
    require_arcs(k, loaded.target.vocabulary)
    beside = Beside(loaded.target, loaded.tokenizer, options.models)
    needs = Needs(loaded.target.name, loaded.tokenizer, options.models)
    automata = {}
    for name in by:
        name.require(needs)
        rows = name.rows(beside)
        order = f"{rows.model.order}-gram"
        automata[order if order not in automata else f"{order} {name.file}"] = Automaton(rows)
    if neural is None and options.target in (None, EMBEDDED):
        neural = EMBEDDED
    model = None
    if neural is not None:
        rescorer = parse_drafter(neural)
        if not isinstance(rescorer, ModelKind) or not rescorer.rescores:
            raise ValueError(f"neural must name a model, got {neural}")
        rescorer.require(needs)
        model = rescorer.model(beside)
        require_branching(model)
    if len(loaded.prompts) < 2:
        raise ValueError("an analysis needs at least 2 prompts, one of them to tune on, got 1")
    texts = [
        block_text(
            loaded.target, drafter, prompt, stopping=loaded.stopping, k=k
        )
        for prompt in tqdm(loaded.prompts, desc="texts", disable=not sys.stderr.isatty())
    ]
    kept = [text for text in texts if text is not None]
    if len(kept) < 2:
        raise ValueError("an analysis needs at least 2 texts of 2 tokens or more, got fewer")
    count = min(max(round(tuning_share * len(kept)), 1), len(kept) - 1)
    with tqdm(desc="analyse", unit="way", disable=not sys.stderr.isatty()) as bar:
        result = analyse(
            kept[:count],
            kept[count:],
            Rescorers(automata, model),
            k=k,
            step=bar.update,
        )
    if len(kept) < len(texts):
        warn(f"{len(texts) - len(kept)} texts ended with their first token and tell nothing")
    if as_json:
        print_json(to_builtins(result))
    else:
        click.echo(report(result))
