"""`specplan heads`: trains blockwise heads or an EAGLE-3 head, and analyses blockwise drafts."""

import click

from estimator.training.request import HeadTraining, TrainEagle3
from specplan.options.answer import Printed, answer, output_option
from specplan.options.command import Command, reads
from specplan.options.declared import COUNT, Whole, declare, option, takes
from specplan.options.model_options import MODEL_RECORDS, MODELS, corpus_option
from specplan.reports.bar import Bar
from specplan.reports.studies import analysis_text, trained_text
from studies.blockwise.request import AnalyseHeads, TrainHeads


@click.group("heads")
def heads_command() -> None:
    """Train blockwise heads for a model, and analyse what they draft.

    \b
    Example:
      specplan heads train --target T --corpus src/ -o heads/
      specplan heads analyse
    """


declare(
    HeadTraining,
    target=option(metavar="NAME|FOLDER", show_default=True),
    sources=corpus_option,
    hidden=option(type=COUNT),
    steps=option(type=Whole(0)),
    positions=option(type=COUNT),
    window=option(type=Whole(2)),
    tokens=option(type=Whole(2)),
    device=option(type=click.Choice(["auto", "cpu", "cuda"])),
    seed=option(type=Whole(0)),
    output=output_option(required=True, metavar=None),
)
declare(TrainHeads, heads=option(type=Whole(2)))
declare(TrainEagle3, unrolled=option(type=COUNT))
declare(
    AnalyseHeads,
    ngrams=option("--ngram", multiple=True, metavar="FILE"),
    neural=option(metavar="MODEL"),
    tuning_share=option(type=click.FloatRange(0, 1, min_open=True, max_open=True)),
)


class HeadOptions:
    """The kind of heads to train.

    kind: blockwise (each head drafts one position) or eagle3 (one head drafts token after token).
    """

    kind = option(type=click.Choice(["blockwise", "eagle3"]), default="blockwise")


@reads(TrainHeads, Printed)
def train(request: TrainHeads, form: Printed) -> None:
    from studies.blockwise.training import train_heads

    with Bar("read", "file") as bar:
        report = train_heads(request, bar)
    answer(lambda: report, lambda: trained_text(report), form=form)


@reads(TrainEagle3, Printed)
def train_eagle3_head(request: TrainEagle3, form: Printed) -> None:
    from estimator.training.heads import train_eagle3

    with Bar("read", "file") as bar:
        report = train_eagle3(request, bar)
    answer(lambda: report, lambda: trained_text(report), form=form)


@heads_command.command(
    "train",
    cls=Command,
    ways={"--kind eagle3": train_eagle3_head, "--kind blockwise": train},
    short_help="Train heads on a frozen model, or with it.",
)
@takes(HeadOptions, TrainHeads, TrainEagle3, Printed)
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


@heads_command.command(
    "analyse", cls=Command, short_help="Analyse drafts of heads before and after rescoring."
)
@takes(*MODEL_RECORDS, heading=MODELS, without=("device_map", "rescoring_weight"))
@takes(AnalyseHeads, Printed)
@reads(AnalyseHeads, Printed)
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
        analysis = analyse_heads(request, bar)
    answer(lambda: analysis, lambda: analysis_text(analysis), form=form)
