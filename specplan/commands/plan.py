"""`specplan plan`: gamma planning from numbers, no model needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.drafter_names import parse_drafter
from specplan.options.plan_inputs import Pricing, acceptance, duration, pricings, verify_points
from specplan.options.plan_roofline import DEFAULT_CONTEXT, roofline_pricings
from specplan.options.ranges import integers, numbers
from specplan.reports.export import EXPORTS, export
from specplan.reports.output import print_json, warn
from specplan.reports.plan import Basis, plan_json, plan_text, row_json, rows_text

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.choice.plan import Plan


@click.command(name="plan")
@click.option("--alpha", callback=numbers, metavar="A", help="Acceptance rate alpha in [0, 1].")
@click.option(
    "--accepted-fraction",
    type=float,
    metavar="F",
    help="Accepted over drafted tokens, as servers print it; with --at-gamma.",
)
@click.option(
    "--block-efficiency",
    type=float,
    metavar="E",
    help="Tokens per target call (mean acceptance length); with --at-gamma.",
)
@click.option("--at-gamma", type=int, metavar="G", help="The gamma those were counted at.")
@click.option(
    "--profile",
    "profile_path",
    type=click.Path(path_type=Path),
    help="Acceptance and costs from a file that `specplan measure` wrote.",
)
@click.option(
    "--lenience",
    type=float,
    metavar="L",
    help="Accept leniently: l in (0, 1], 1 is lossless; with --profile.",
)
@click.option(
    "--c", callback=numbers, metavar="C", help="Draft step time over target step time; or:"
)
@click.option("--target-ms", type=float, callback=duration, help="Target step, milliseconds.")
@click.option("--draft-ms", type=float, callback=duration, help="Draft step, milliseconds.")
@click.option(
    "--verify-ms",
    multiple=True,
    callback=verify_points,
    metavar="N=MS",
    help="Target pass over N tokens; repeat for more points.  [default: --target-ms for any N]",
)
@click.option(
    "--overhead-ms",
    type=float,
    callback=duration,
    help="Everything else in a block.  [default: 0]",
)
@click.option(
    "--target-config",
    type=click.Path(path_type=Path),
    help="The target's config.json, for costs by the roofline of a GPU.",
)
@click.option("--draft-config", type=click.Path(path_type=Path), help="The draft's config.json.")
@click.option("--gpu", metavar="NAME", help="h100, a100, l4, ...; an unknown name lists them all.")
@click.option(
    "--dtype",
    type=click.Choice(["bfloat16", "float16", "float32"]),
    help="Number format of both models.  [default: each config's own]",
)
@click.option(
    "--batch", callback=integers, metavar="B", help="Sequences together, or a list.  [default: 1]"
)
@click.option(
    "--context",
    type=int,
    metavar="L",
    help=f"Tokens in each sequence's cache.  [default: {DEFAULT_CONTEXT}]",
)
@click.option(
    "--layer-overhead-us",
    type=float,
    callback=duration,
    help="Launching a layer's kernels, microseconds; 20 to 50 without CUDA graphs.  [default: 0]",
)
@click.option(
    "--c-hat",
    type=float,
    help="Operations of a draft step over those of a target step.  [default: c]",
)
@click.option("--gamma", type=int, metavar="G", help="Evaluate this gamma.  [default: the best]")
@click.option(
    "--max-gamma", type=int, default=32, metavar="G", help="The largest gamma to consider."
)
@click.option(
    "--export",
    "server",
    type=click.Choice(list(EXPORTS)),
    help="Print only what sets this gamma there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def plan_command(
    alpha: tuple[float, ...] | None,
    accepted_fraction: float | None,
    block_efficiency: float | None,
    at_gamma: int | None,
    profile_path: Path | None,
    lenience: float | None,
    c: tuple[float, ...] | None,
    target_ms: float | None,
    draft_ms: float | None,
    verify_ms: dict[int, float],
    overhead_ms: float | None,
    target_config: Path | None,
    draft_config: Path | None,
    gpu: str | None,
    dtype: str | None,
    batch: tuple[int, ...] | None,
    context: int | None,
    layer_overhead_us: float | None,
    c_hat: float | None,
    gamma: int | None,
    max_gamma: int,
    server: str | None,
    as_json: bool,
) -> None:
    """Plan gamma from numbers, no model needed.

    Takes the acceptance (one of --alpha, --accepted-fraction, --block-efficiency, --profile) and
    the cost (--c, where verifying a block costs what decoding one token does; or times; or a GPU
    and two config.json), and shows what every gamma gives. --alpha and --c take lists (0.7,0.8) and
    ranges (0.1:0.9:0.1), too, for a table.

    \b
    Examples:
      specplan plan --alpha 0.8 --c 0.05
      specplan plan --accepted-fraction 0.61 --at-gamma 4 --c 0.05
      specplan plan --alpha 0.8 --target-ms 19 --draft-ms 1.6 --verify-ms 4=33
      specplan plan --alpha 0.5:0.9:0.1 --c 0.02,0.05,0.1
      specplan plan --profile profile.json --export vllm
      specplan plan --target-config T/config.json --draft-config D/config.json \\
        --gpu h100 --alpha 0.7 --batch 1,8,64
    """
    from simulator.acceptance.iid import Iid
    from simulator.choice.plan import plan

    profile = _read(profile_path)
    alphas = acceptance(
        alpha=alpha,
        accepted_fraction=accepted_fraction,
        block_efficiency=block_efficiency,
        at_gamma=at_gamma,
        profile=profile,
        lenience=lenience,
    )
    priced = pricings(
        c=c,
        target_ms=target_ms,
        draft_ms=draft_ms,
        verify_ms=verify_ms,
        overhead_ms=overhead_ms,
        roofline=roofline_pricings(
            target_config=target_config,
            draft_config=draft_config,
            gpu=gpu,
            dtype=dtype,
            batch=batch,
            context=context,
            layer_overhead_us=layer_overhead_us,
            max_gamma=max_gamma,
        ),
        profile=profile,
    )
    if server is not None and len(alphas) * len(priced) > 1:
        raise click.UsageError("--export needs a single alpha, c and batch")
    plans = [
        plan(
            Iid(rate),
            price.cost,
            c_hat=price.c_hat if c_hat is None else c_hat,
            gamma=gamma,
            max_gamma=max_gamma,
            batch=price.batch,
        )
        for rate in alphas
        for price in priced
    ]
    cheaper = [n for n, ms in verify_ms.items() if target_ms is not None and ms < target_ms]
    if cheaper:
        warn(
            f"--verify-ms has {cheaper[0]} tokens cost less than --target-ms has 1: are both times "
            "of one machine?"
        )
    replayed = _replayed_gamma(profile, lenience=lenience, price=priced[0])
    basis = Basis(
        counted=at_gamma is not None,
        c_hat_is_c=c_hat is None and priced[0].c_hat is None,
        notes=_notes(gpu=gpu, lenience=lenience, replayed=replayed),
    )
    _warn_of_caps(plans, max_gamma)
    flags = None
    if server is not None:
        best = plans[0].gamma
        if gamma is None and replayed is not None and replayed <= max_gamma:
            best = replayed
        if best != plans[0].gamma:
            warn(
                f"exporting gamma {best}, the best by replay of the measured text; as if "
                f"acceptances were independent it would be {plans[0].gamma}"
            )
        draft = "DRAFT" if profile is None or best == 0 else _draft_name(profile)
        flags = export(server, gamma=best, draft=draft)
    _show(plans, basis, flags=flags, as_json=as_json)


def _show(plans: list[Plan], basis: Basis, *, flags: str | None, as_json: bool) -> None:
    if len(plans) > 1:
        if as_json:
            print_json({"rows": [row_json(each, basis) for each in plans]})
        else:
            click.echo(rows_text(plans, basis))
        return
    (only,) = plans
    if as_json:
        print_json(plan_json(only, basis) | ({} if flags is None else {"export": flags}))
    else:
        click.echo(plan_text(only, basis) if flags is None else flags)


def _read(path: Path | None) -> Profile | None:
    if path is None:
        return None
    from estimator.profiles.profile import read_profile

    return read_profile(path)


def _draft_name(profile: Profile) -> str:
    """Returns the name or folder by which a server can load the profile's draft.

    Raises:
      ValueError: if the draft is no model.
    """
    from reference.models.embedded import weights_folder

    setup = profile.data.get("setup")
    name = setup.get("draft") if isinstance(setup, dict) else None
    if not isinstance(name, str):
        return "DRAFT"
    parsed = parse_drafter(name)
    if parsed.kind == "embedded":
        return str(weights_folder("draft"))
    if parsed.kind != "hf":
        raise ValueError(f"--export needs a draft model, got a profile of {name}")
    return str(parsed.value)


def _replayed_gamma(
    profile: Profile | None, *, lenience: float | None, price: Pricing
) -> int | None:
    """Returns the profile's best gamma by replay; None where other numbers replace its own."""
    lenient = lenience is not None and lenience < 1
    if profile is None or lenient or price.cost is not profile.cost:
        return None
    best = profile.data.get("optimal_gamma")
    return best if isinstance(best, int) and best >= 0 else None


def _notes(
    *, gpu: str | None, lenience: float | None, replayed: int | None
) -> tuple[str, ...]:
    """Returns what a reader must know of where the numbers come from."""
    notes = []
    if gpu is not None:
        notes.append(f"Costs by the roofline of {gpu}: trust ratios more than tokens per second.")
    if lenience is not None and lenience < 1:
        notes.append(
            f"Lenience {lenience:g}: not lossless, a token may come up to {1 / lenience:g} times "
            "as often as the target's law has it."
        )
    if replayed is not None:
        notes.append(
            "Taken as i.i.d.; replay of the measured text, which need not be, gives gamma "
            f"{replayed} as best."
        )
    return tuple(notes)


def _warn_of_caps(plans: list[Plan], max_gamma: int) -> None:
    bound = sum(each.cap_binds for each in plans)
    if bound > 0:
        where = "" if len(plans) == 1 else f" in {bound} of {len(plans)} rows"
        warn(f"the best gamma is held down by --max-gamma {max_gamma}{where}: a longer draft gains")
