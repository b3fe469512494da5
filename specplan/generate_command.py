"""`specplan generate`: watch speculative decoding work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from specplan.model_options import ModelOptions, model_options
from specplan.output import print_json

if TYPE_CHECKING:
    from reference.records import Block


@click.command("generate")
@model_options
@click.option("--prompt", help="Text to continue.  [default: the first of the prompts]")
@click.option("--gamma", type=click.IntRange(min=1), default=4, help="Drafted tokens per block.")
@click.option("--temperature", type=float, default=1.0)
@click.option(
    "--decoder", type=click.Choice(["autoregressive", "speculative"]), default="speculative"
)
@click.option(
    "--show",
    is_flag=True,
    help="One line per block: accepted draft tokens green, rejected ones red, the target's blue.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def generate_command(
    options: ModelOptions,
    prompt: str | None,
    gamma: int,
    temperature: float,
    decoder: str,
    show: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Generate text speculatively and watch it work.

    \b
    Example:
      specplan generate --prompt "def fib(n):" --gamma 4 --show
    """
    from estimator.seeding import seeded
    from reference.autoregressive import autoregressive_blocks
    from reference.generation import begin
    from reference.policies import Fixed
    from reference.records import Generation
    from reference.sampling import Sampling
    from reference.speculative import speculative_blocks
    from specplan.loading import load

    if prompt is not None and not prompt:
        raise ValueError("prompt must not be empty, got an empty one")
    if len(options.drafts) > 1:
        raise ValueError(f"draft must be given once, got {', '.join(options.drafts)}")
    sampling = Sampling(temperature=temperature, top_k=options.top_k, top_p=options.top_p)
    loaded = load(options)
    ids = loaded.prompts[0] if prompt is None else loaded.tokenizer(prompt)["input_ids"]
    drafter = next(iter(loaded.drafters.values()))(sampling)
    generator = seeded(loaded.target.device, seed)
    stopping = loaded.stopping
    if decoder == "autoregressive":
        text, prefill_seconds = begin(loaded.target, None, ids, stopping)
        stream = autoregressive_blocks(
            loaded.target, text, sampling=sampling, stopping=stopping, generator=generator
        )
    else:
        text, prefill_seconds = begin(loaded.target, drafter, ids, stopping)
        stream = speculative_blocks(
            loaded.target,
            drafter,
            text,
            sampling=sampling,
            policy=Fixed(gamma),
            stopping=stopping,
            generator=generator,
        )
    blocks = []
    decode = loaded.tokenizer.decode
    if not as_json:
        click.echo(decode(ids), nl=show)
    for block in stream:
        blocks.append(block)
        if not as_json:
            click.echo(coloured(block, decode) if show else decode(list(block.tokens)), nl=show)
    generation = Generation(tuple(text), tuple(blocks), prefill_seconds)
    if as_json:
        print_json(_as_data(generation, decode))
        return
    click.echo(
        f"\n{len(generation.tokens)} tokens in {generation.target_calls} target calls, "
        f"{generation.decode_seconds:.2f} s; {generation.accepted} of {generation.drafted} "
        f"drafted tokens accepted; ended by {generation.ending}.",
        err=not show,
    )


def coloured(block: Block, decode: Any) -> str:
    """Returns one line for a block, coloured as Figure 1 of Leviathan et al. 2023.

    Accepted draft tokens green, rejected ones red and in brackets, the target's own token blue;
    brackets and a bar tell them apart where there is no colour.
    """

    def shown(tokens: tuple[int, ...]) -> str:
        return str(decode(list(tokens))).replace("\n", "\\n")

    accepted = block.tokens[: block.accepted]
    own = block.tokens[block.accepted :]
    rejected = block.drafted[block.accepted :]
    line = click.style(shown(accepted), fg="green") if accepted else ""
    if rejected:
        line += "[" + click.style(shown(rejected), fg="red") + "]"
    return line + ("|" + click.style(shown(own), fg="blue") if own else "")


def _as_data(generation: Any, decode: Any) -> dict[str, Any]:
    return {
        "text": decode(list(generation.tokens)),
        "tokens": list(generation.tokens),
        "target_calls": generation.target_calls,
        "drafted": generation.drafted,
        "accepted": generation.accepted,
        "accepted_fraction": generation.accepted_fraction,
        "block_efficiency": generation.block_efficiency,
        "prefill_seconds": generation.prefill_seconds,
        "decode_seconds": generation.decode_seconds,
        "draft_seconds": generation.draft_seconds,
        "verify_seconds": generation.verify_seconds,
        "other_seconds": generation.other_seconds,
        "ending": generation.ending,
        "blocks": [
            {
                "drafted": list(block.drafted),
                "tokens": list(block.tokens),
                "accepted": block.accepted,
            }
            for block in generation.blocks
        ],
    }
