"""`specplan heads`: trains blockwise heads or an EAGLE-3 head, and analyses blockwise drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from specplan.options.answer import Printed, answer, json_option, output_option
from specplan.options.command import Command, reads
from specplan.options.declared import COUNT, Whole, option, takes
from specplan.options.model_options import MODEL_RECORDS, MODELS, corpus_option
from specplan.reports.bar import Bar
from specplan.reports.studies import analysis_text, trained_text

if TYPE_CHECKING:
    from estimator.training.heads import TrainEagle3
    from studies.blockwise.analysis import AnalyseHeads
    from studies.blockwise.training import TrainHeads


@click.group("heads")
def heads_command() -> None:
    """Train blockwise heads for a model, and analyse what they draft.

    \b
    Example:
      specplan heads train --target T --corpus src/ -o heads/
      specplan heads analyse
    """


class TrainHeadsOptions:
    """Options of the heads, their training and their folder.

    kind: blockwise (each head drafts one position) or eagle3 (one head drafts token after token).
    target: The decoder-only model that is to draft for itself.
    heads: Number of heads, including the model's own.
    hidden: Hidden units of a head.  [default: 2 x the model's width; with --kind eagle3: 4 x]
    unrolled: With --kind eagle3: tokens drafted from each position in training.  [default: 4]
    steps: Training steps.
    rate: Peak learning rate.
    positions: Text positions in each training step.
    window: Tokens of text that the model reads in one pass.
    tokens: Tokens of training text: the first of the corpus.
    joint: Train the model, too, and write it with the heads.
    seed: Seed of initial weights and of training positions.
    """

    kind = option(type=click.Choice(["blockwise", "eagle3"]), default="blockwise")
    target = option(default="embedded", metavar="NAME|FOLDER", show_default=True)
    sources = corpus_option
    heads = option(type=Whole(2), default=9)
    hidden = option(type=COUNT)
    unrolled = option(type=COUNT)
    steps = option(type=Whole(0), default=2000)
    rate: float = option(default=0.003)
    positions = option(type=COUNT, default=512)
    window = option(type=Whole(2), default=256)
    tokens = option(type=Whole(2), default=300_000)
    joint: bool = option()
    device = option(type=click.Choice(["auto", "cpu", "cuda"]), default="auto")
    seed = option(type=Whole(0), default=0)
    output = output_option(
        "Folder for the heads; an interrupted run resumes from the files next to it.",
        required=True,
        metavar=None,
    )
    as_json = json_option


@reads("studies.blockwise.training:TrainHeads", Printed)
def train(request: TrainHeads, form: Printed) -> None:
    from studies.blockwise.training import train_heads

    with Bar("read", "file") as bar:
        found = train_heads(request, bar)
    answer(lambda: found, lambda: trained_text(found), form=form)


@reads("estimator.training.heads:TrainEagle3", Printed)
def train_eagle3_head(request: TrainEagle3, form: Printed) -> None:
    from estimator.training.heads import train_eagle3

    with Bar("read", "file") as bar:
        found = train_eagle3(request, bar)
    answer(lambda: found, lambda: trained_text(found), form=form)


@heads_command.command(
    "train",
    cls=Command,
    ways={"--kind eagle3": train_eagle3_head, "--kind blockwise": train},
    short_help="Train heads on a frozen model, or with it.",
)
@takes(TrainHeadsOptions)
def train_command(**_: object) -> None:
    """Train blockwise heads, for `--draft heads:FOLDER`, or an EAGLE-3 head.

    The model stays as it is, unless --joint (the paper's loss, all weights 1). A twentieth of the
    text is kept to measure how often each head is right, or what an EAGLE-3 head's drafts would
    accept. An EAGLE-3 head is written in the layout that vLLM and SGLang load.

    \b
    Example:
      specplan heads train --target T --corpus src/ -o heads/
      specplan validate --target T --draft heads:heads/
      specplan heads train --kind eagle3 --target T --corpus src/ -o head/
      specplan validate --target T --draft eagle3:head/
    """


class AnalyseOptions:
    """Options of the rescorers and of the analysis.

    ngrams: An n-gram model that rescores; repeatable.  [default: the embedded trigram]
    neural: A small model that rescores: embedded, or a name or folder.  [default: embedded with the
      embedded target, else none]
    tuning_share: Share of the prompts on which the rescorers' weights are chosen.
    """

    ngrams = option("--ngram", multiple=True, metavar="FILE")
    neural = option(metavar="MODEL")
    tuning_share = option(type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.3)
    as_json = json_option


@heads_command.command(
    "analyse", cls=Command, short_help="Analyse drafts of heads before and after rescoring."
)
@takes(*MODEL_RECORDS, heading=MODELS, without=("device_map", "rescoring_weight"))
@takes(AnalyseOptions)
@reads("studies.blockwise.analysis:AnalyseHeads", Printed)
def analyse_command(request: AnalyseHeads, form: Printed) -> None:
    """Analyse blockwise drafts as Kim et al. 2024 do, on greedy texts of the target.

    Repetition, entropy by head, block efficiency of the heads' own drafts, of rescored and
    parallel ones and of the oracle, each with its interval over prompts.

    \b
    Example:
      specplan heads analyse
      specplan heads analyse --target T --draft heads:heads/ --ngram 4gram.arpa --prompts my.jsonl
    """
    from studies.blockwise.analysis import analyse_heads

    with Bar("analyse", "step") as bar:
        found = analyse_heads(request, bar)
    answer(lambda: found, lambda: analysis_text(found), form=form)
