"""`specplan size`: how many GPUs keep latency targets, and with which draft length."""

import click

from specplan.api.size import answered
from specplan.api.size_settings import SizedLoad, SizedMachines, SizeSettings
from specplan.options.answer import answer
from specplan.options.command import Command, fill
from specplan.options.declared import takes
from specplan.options.size_options import SizedAnswer, SizedPair
from specplan.reports.size_grid import size_grid

# A draft has its own acceptance: the options of one draft in other commands.
_DRAFT = "each draft is --draft config=FILE,alpha=0.7 (or rates=0.8/0.6/0.45)"
_OF_ONE_DRAFT = ("--draft-config", "--alpha", "--acceptance-by-position", "--typical")
_INSTEAD = dict.fromkeys(_OF_ONE_DRAFT, _DRAFT) | {
    "--tp": "state the GPUs of a replica (--gpus-per-replica 2)"
}


@click.command("size", cls=Command, instead=_INSTEAD)
@takes(SizedLoad, heading="Requests")
@takes(SizedPair, heading="Models")
@takes(SizedMachines, heading="Machines")
@takes(SizedAnswer, heading="Answer")
@click.pass_context
def size_command(ctx: click.Context, /, **_: object) -> None:
    """Find the fewest GPUs, or the least money, that keep latency targets for a load.

    Searches GPU, GPUs of a replica, number format, draft, draft length (no draft included) and
    batch limit. Replicas share the requests in turn. The best deployment is simulated with all
    its replicas, and the GPUs that speculation saves have a probability.

    \b
    Examples:
      specplan size --rate 40 --prompt-tokens 1000 --output-tokens 300 --slo ttft=500,tpot=30 \\
        --target-config T/config.json --draft config=D/config.json,alpha=0.7 \\
        --gpu h100,h200 --gpus-per-replica 1,2,4,8 --dtype fp8 --engine vllm
      specplan size --rate 40 --prompt-tokens 1000 --output-tokens 300 --slo ttft=500,tpot=30 \\
        --target-config T/config.json --draft config=D1/config.json,rates=0.8/0.6/0.45 \\
        --draft config=D2/config.json,alpha=0.6 --gpu h100,h200 --price h100=2.5,h200=3.4
    """
    models, given, form = fill(ctx, [SizedPair, SizeSettings, SizedAnswer])
    sizing = answered(models.target_config, models.drafts, given)

    def sliders() -> dict[str, object]:
        # By hour, the rate is the trace's.
        return {"grid": size_grid(() if given.trace else sizing.replicas, sizing)}

    if form.server is None:
        answer(sizing.json, lambda: str(sizing), form=form, further=sliders)
        return
    flags = sizing.flags(form.server)
    answer(lambda: {**sizing.json(), "export": flags}, lambda: flags, form=form, further=sliders)
