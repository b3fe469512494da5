"""`specplan plan`: gamma planning from numbers, no model needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engines.registry import exports_of
from specplan.options.acceptance import AcceptanceOptions, acceptance_options, acceptances
from specplan.options.choice import (
    ChoiceOptions,
    OutputOptions,
    choice_options,
    output_options,
)
from specplan.options.cost import CostOptions, cost_options, pricings
from specplan.options.deployment import (
    DeploymentOptions,
    LoadOptions,
    deployment_options,
    load_options,
)
from specplan.options.drafter_names import lookup_length, served_draft
from specplan.options.measured_load import measured_pricings
from specplan.options.roofline import roofline_pricings
from specplan.reports.deployment import schedules, schedules_json
from specplan.reports.export import export, export_lookup, export_schedule
from specplan.reports.output import print_json, warn, write_json
from specplan.reports.plan import Basis, plan_json, plan_text, row_json, rows_text
from specplan.reports.plan_notes import basis_notes

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.choice.plan import Plan
    from specplan.reports.pricing import Pricing

MOST_ROWS = 10_000


@click.command(name="plan")
@acceptance_options
@cost_options
@deployment_options
@load_options
@choice_options
@output_options
def plan_command(
    acceptance: AcceptanceOptions,
    cost: CostOptions,
    deployment: DeploymentOptions,
    load: LoadOptions,
    choice: ChoiceOptions,
    output_options: OutputOptions,
) -> None:
    """Plan gamma from numbers, no model needed.

    \b
    gamma              num_speculative_tokens (vLLM),
                       --spec-draft-n-max (llama.cpp)
    block efficiency   mean acceptance length: tokens per call of the target
    accepted fraction  "draft acceptance rate": falls with gamma, and is NOT alpha
    alpha              how likely a drafted token stands, those before it standing
    c                  time of a draft step over time of a target step

    Takes the acceptance (one of --alpha, --accepted-fraction, --block-efficiency,
    --acceptance-by-position, --profile) and the cost (--c, where verifying is free; or times; or
    a GPU and two config.json), and shows what every gamma gives. --alpha and --c take lists
    (0.7,0.8) and ranges (0.1:0.9:0.1), too, for a table.

    \b
    Examples:
      specplan plan --acceptance-by-position 0.705,0.494,0.293 --c 0.05
      specplan plan --alpha 0.8 --c 0.05
      specplan plan --accepted-fraction 0.61 --at-gamma 4 --c 0.05
      specplan plan --alpha 0.8 --target-ms 19 --draft-ms 1.6 --verify-ms 4=33
      specplan plan --alpha 0.5:0.9:0.1 --c 0.02,0.05,0.1
      specplan plan --profile profile.json --export vllm
      specplan plan --target-config T/config.json --draft-config D/config.json \\
        --gpu h100 --alpha 0.7 --batch 1:256:1 --export vllm
    """
    from simulator.choice.plan import plan

    profile = _read(acceptance.profile_path)
    verification = _verification(acceptance, profile, output_options.server)
    sampling = _sampling(acceptance, profile, output_options.server)
    drafts = acceptances(acceptance, profile, sampling, verification)
    under_load = measured_pricings(deployment, load, profile, also=cost.stated)
    priced = under_load or pricings(
        cost,
        roofline=roofline_pricings(deployment, load, max_gamma=choice.max_gamma),
        profile=profile,
    )
    rows = len(drafts) * len(priced)
    scheduled = _scheduled(priced, rows)
    if output_options.server is not None and rows > 1 and not scheduled:
        raise click.UsageError("--export needs a single alpha, c and context")
    if rows > MOST_ROWS:
        raise click.UsageError(f"a table must have at most {MOST_ROWS} rows, got {rows}")
    plans = [
        plan(
            draft,
            price.cost,
            c_hat=price.c_hat if choice.c_hat is None else choice.c_hat,
            gamma=choice.gamma,
            max_gamma=_cap(choice.max_gamma, price),
            near=choice.near / 100,
            batch=price.batch,
        )
        for draft in drafts
        for price in priced
    ]
    prices = [*priced] * len(drafts)
    basis = Basis(
        counted=acceptance.counted,
        c_hat_is_c=choice.c_hat is None and priced[0].c_hat is None,
        draft_sampling=sampling,
        verification=verification,
        quiet=None if profile is None else profile.quiet,
        notes=basis_notes(
            priced[0], drafts[0], lenience=acceptance.lenience, profile=profile, rows=rows
        ),
    )
    _warn(plans, basis, max_gamma=choice.max_gamma)
    flags = None
    if output_options.server is not None:
        advised = plans[0].gamma if choice.gamma is not None else plans[0].gamma_near
        if scheduled:
            flags = _exported_schedule(output_options.server, plans, prices)
        else:
            flags = _exported(
                output_options.server,
                advised,
                profile,
                sampling=sampling,
                verification=verification,
            )
    _show(plans, basis, prices, flags=flags, options=output_options)


def _cap(max_gamma: int, price: Pricing) -> int:
    """Returns the largest γ to consider: some drafts have so many heads, or so long a block."""
    return max_gamma if price.max_gamma is None else min(max_gamma, price.max_gamma)


def _scheduled(priced: tuple[Pricing, ...], rows: int) -> bool:
    """Returns whether the rows are one schedule: several batch sizes, and nothing else varied."""
    contexts = {None if price.load is None else price.load.context for price in priced}
    return rows > 1 and rows == len(priced) and None not in contexts and len(contexts) == 1


def _exported(
    server: str,
    gamma: int,
    profile: Profile | None,
    *,
    sampling: DraftSampling | None,
    verification: Verification | None,
) -> str:
    """Returns the flags of one gamma: of a draft model, or of a lookup that a profile is of."""
    longest = None if profile is None else lookup_length(profile.setup.draft)
    if longest is not None:
        return export_lookup(server, gamma=gamma, longest=longest)
    draft = "DRAFT" if profile is None or gamma == 0 else _draft_name(profile)
    return export(
        server, gamma=gamma, draft=draft, sampling=sampling, verification=verification
    )


def _exported_schedule(server: str, plans: list[Plan], prices: list[Pricing]) -> str:
    found = schedules(plans, prices)
    load = prices[0].load
    if not found or load is None:
        raise ValueError("none of these batch sizes fits into the memory of the GPUs")
    (ranges,) = found.values()
    return export_schedule(server, ranges, draft="DRAFT", kind=load.draft_kind)


def _show(
    plans: list[Plan],
    basis: Basis,
    prices: list[Pricing],
    *,
    flags: str | None,
    options: OutputOptions,
) -> None:
    exported = {} if flags is None else {"export": flags}
    if len(plans) > 1:
        pairs = zip(plans, prices, strict=True)
        data = {"rows": [row_json(plan, basis, price) for plan, price in pairs], **exported}
        if prices[0].load is not None and len({plan.alpha for plan in plans}) == 1:
            data["schedule"] = schedules_json(schedules(plans, prices))
        text = "" if options.as_json else rows_text(plans, basis, prices)
    else:
        data = plan_json(plans[0], basis, prices[0]) | exported
        text = plan_text(plans[0], basis, prices[0])
    if flags is not None:
        text = flags
    if options.output is not None:
        write_json(data, options.output)
    if options.as_json:
        print_json(data)
    else:
        click.echo(text)


def _read(path: Path | None) -> Profile | None:
    if path is None:
        return None
    from estimator.profiles.profile_file import read_profile

    return read_profile(path)


def _sampling(
    options: AcceptanceOptions, profile: Profile | None, server: str | None
) -> DraftSampling | None:
    """Returns the way of drafting to plan for; None without a profile that tells them apart.

    What the user says, else what the server does that flags are exported for, else the profile's.
    """
    if profile is None:
        return None
    if options.draft_sampling is not None:
        return options.draft_sampling
    served = None if server is None else exports_of(server).draft_sampling
    if served is None or served == profile.draft_sampling:
        return profile.draft_sampling
    if served not in profile.draftings:
        warn(f"{server} drafts by {served}; the profile has {profile.draft_sampling} drafts alone")
        return profile.draft_sampling
    click.echo(f"Planned with {served} drafts, as {server} makes them.", err=True)
    return served


def _verification(
    options: AcceptanceOptions, profile: Profile | None, server: str | None
) -> Verification | None:
    """Returns how drafts are judged in the plan; None without a profile.

    What the user says, else the profile's where the server to export for can do so.

    Raises:
      ValueError: if the user says what that server cannot do.
    """
    if profile is None:
        return None
    able = server is None or exports_of(server).judges_blocks
    if options.verification == "block" and not able:
        raise ValueError(f"verification must be token for {server}, got block")
    if options.verification is not None:
        return options.verification
    return profile.verification if able else "token"


def _draft_name(profile: Profile) -> str:
    """Returns the name or folder by which a server can load the profile's draft.

    Raises:
      ValueError: if the draft is no model.
    """
    draft = served_draft(profile.setup.draft)
    if draft is None:
        raise ValueError(f"--export needs a draft model, got a profile of {profile.setup.draft}")
    return draft


def _warn(plans: list[Plan], basis: Basis, *, max_gamma: int) -> None:
    bound = sum(each.cap_binds for each in plans)
    if bound > 0:
        where = "" if len(plans) == 1 else f" in {bound} of {len(plans)} rows"
        warn(f"the best gamma is held down by --max-gamma {max_gamma}{where}: a longer draft gains")
    if basis.quiet is False:
        warn("the profile was measured while the machine was not quiet; measure it anew")
