"""Costs by batch that a profile holds, as options ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from specplan.options.deployment import DeploymentOptions, LoadOptions
from specplan.reports.pricing import Load, Pricing

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile


def measured_pricings(
    options: DeploymentOptions, load: LoadOptions, profile: Profile | None, *, also: list[str]
) -> tuple[Pricing, ...] | None:
    """Returns a profile's costs at each batch size asked for; None where none or no profile is.

    Args:
      options: that ask for a roofline in place of what was measured.
      load: the batch sizes, and the context where one of several is meant.
      profile: the file that is planned from, if one is.
      also: options given that say a cost.

    Raises:
      click.UsageError: if a cost is given, too.
      ValueError: if the profile was not measured so.
    """
    if profile is None or load.batch is None or options.target_config is not None:
        return None
    if also:
        raise click.UsageError(f"--batch of a profile cannot be combined with {also[0]}")
    measured = {(costs.context, costs.batch): costs for costs in profile.load}
    if not measured:
        raise ValueError(
            "profile must hold costs by batch ('specplan measure --batch'), or --target-config, "
            "--draft-config and --gpu be given, got neither"
        )
    contexts = dict.fromkeys(context for context, _ in measured)
    wanted = [(c, b) for c in (load.context or tuple(contexts)) for b in load.batch]
    for context, batch in wanted:
        if (context, batch) not in measured:
            known = ", ".join(f"{b} at context {c}" for c, b in measured)
            raise ValueError(
                f"batch must be one that the profile was measured at ({known}), got {batch} at "
                f"context {context}"
            )
    return tuple(
        Pricing(
            cost=profile.cost_of(measured[cell]),
            c_hat=profile.c_hat,
            batch=cell[1],
            load=Load(
                gpu=profile.setup.device or "its machine",
                dtype=profile.setup.dtype,
                tp=1,
                draft_kind="model",
                context=cell[0],
                needed_gb=None,
                fits=True,
                measured=True,
            ),
        )
        for cell in wanted
    )
