"""`specplan plan`: gamma planning from numbers, no model needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.acceptance import AcceptanceOptions, acceptance_options, acceptances
from specplan.options.choice import (
    ChoiceOptions,
    OutputOptions,
    choice_options,
    output_options,
)
from specplan.options.cost import CostOptions, cost_options, pricings
from specplan.options.drafter_names import parse_drafter
from specplan.options.load import LoadOptions, load_options, roofline_pricings
from specplan.reports.export import default_sampling, export
from specplan.reports.output import print_json, warn, write_json
from specplan.reports.plan import Basis, plan_json, plan_text, row_json, rows_text

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling
    from simulator.choice.plan import Plan

MOST_ROWS = 10_000


@click.command(name="plan")
@acceptance_options
@cost_options
@load_options
@choice_options
@output_options
def plan_command(
    acceptance: AcceptanceOptions,
    cost: CostOptions,
    load: LoadOptions,
    choice: ChoiceOptions,
    output_options: OutputOptions,
) -> None:
    """Plan gamma from numbers, no model needed.

    \b
    gamma              num_speculative_tokens (vLLM), --spec-draft-n-max (llama.cpp)
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
        --gpu h100 --alpha 0.7 --batch 1,8,64
    """
    from simulator.choice.plan import plan

    profile = _read(acceptance.profile_path)
    sampling = _sampling(acceptance, profile, output_options.server)
    drafts = acceptances(acceptance, profile, sampling)
    priced = pricings(
        cost, roofline=roofline_pricings(load, max_gamma=choice.max_gamma), profile=profile
    )
    rows = len(drafts) * len(priced)
    if output_options.server is not None and rows > 1:
        raise click.UsageError("--export needs a single alpha, c and batch")
    if rows > MOST_ROWS:
        raise click.UsageError(f"a table must have at most {MOST_ROWS} rows, got {rows}")
    plans = [
        plan(
            draft,
            price.cost,
            c_hat=price.c_hat if choice.c_hat is None else choice.c_hat,
            gamma=choice.gamma,
            max_gamma=choice.max_gamma,
            near=choice.near / 100,
            batch=price.batch,
        )
        for draft in drafts
        for price in priced
    ]
    basis = Basis(
        counted=acceptance.counted,
        c_hat_is_c=choice.c_hat is None and priced[0].c_hat is None,
        draft_sampling=sampling,
        quiet=None if profile is None else profile.quiet,
        notes=_notes(gpu=load.gpu, lenience=acceptance.lenience, profile=profile),
    )
    _warn(plans, basis, max_gamma=choice.max_gamma)
    flags = None
    if output_options.server is not None:
        advised = plans[0].gamma if choice.gamma is not None else plans[0].gamma_near
        draft = "DRAFT" if profile is None or advised == 0 else _draft_name(profile)
        flags = export(output_options.server, gamma=advised, draft=draft, sampling=sampling)
    _show(plans, basis, flags=flags, options=output_options)


def _show(
    plans: list[Plan], basis: Basis, *, flags: str | None, options: OutputOptions
) -> None:
    if len(plans) > 1:
        data = {"rows": [row_json(each, basis) for each in plans]}
        text = "" if options.as_json else rows_text(plans, basis)
    else:
        data = plan_json(plans[0], basis) | ({} if flags is None else {"export": flags})
        text = plan_text(plans[0], basis) if flags is None else flags
    if options.output is not None:
        write_json(data, options.output)
    if options.as_json:
        print_json(data)
    else:
        click.echo(text)


def _read(path: Path | None) -> Profile | None:
    if path is None:
        return None
    from estimator.profiles.profile import read_profile

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
    served = None if server is None else default_sampling(server)
    if served is None or served == profile.draft_sampling:
        return profile.draft_sampling
    if served not in profile.draftings:
        warn(f"{server} drafts by {served}; the profile has {profile.draft_sampling} drafts alone")
        return profile.draft_sampling
    click.echo(f"Planned with {served} drafts, as {server} makes them.", err=True)
    return served


def _draft_name(profile: Profile) -> str:
    """Returns the name or folder by which a server can load the profile's draft.

    Raises:
      ValueError: if the draft is no model.
    """
    from reference.models.embedded import weights_folder

    name = profile.setup.draft
    parsed = parse_drafter(name)
    if parsed.kind == "embedded":
        return str(weights_folder("draft"))
    if parsed.kind != "hf":
        raise ValueError(f"--export needs a draft model, got a profile of {name}")
    return str(parsed.value)


def _notes(
    *, gpu: str | None, lenience: float | None, profile: Profile | None
) -> tuple[str, ...]:
    """Returns what a reader must know of where the numbers come from."""
    notes = []
    if gpu is not None:
        notes.append(f"Costs by the roofline of {gpu}: trust ratios more than tokens per second.")
    if lenience is not None and lenience < 1:
        notes.append(
            f"Lenience {lenience:g}: not lossless, a token may come up to {1 / lenience:g} times "
            "as often\nas the target's law has it; acceptances are taken as i.i.d."
        )
    if profile is not None and profile.recommended_gamma is not None:
        notes.append(
            f"As far as its prompts tell, gamma {profile.recommended_gamma} is not worse than the "
            "best there."
        )
    if profile is not None and profile.quiet is False:
        notes.append("Measured while the machine was not quiet: trust none of the times.")
    return tuple(notes)


def _warn(plans: list[Plan], basis: Basis, *, max_gamma: int) -> None:
    bound = sum(each.cap_binds for each in plans)
    if bound > 0:
        where = "" if len(plans) == 1 else f" in {bound} of {len(plans)} rows"
        warn(f"the best gamma is held down by --max-gamma {max_gamma}{where}: a longer draft gains")
    if basis.quiet is False:
        warn("the profile was measured while the machine was not quiet; measure it anew")
