"""The costs by batch size in a profile."""

from dataclasses import dataclass

from simulator.cost.pricing import Load, Pricing
from specplan.options.costs.profile import Profiled
from specplan.options.deployment import Loads
from specplan.options.kinds import Background, CostKind


@dataclass(frozen=True)
class MeasuredLoads(Loads, Profiled, CostKind):
    """The profile, the batch sizes and the context to use; see each option's help."""

    order = 6
    needs = ("profile_path", "batch")

    def price(self, background: Background) -> tuple[Pricing, ...]:
        profile, batches = background.profile, self.batch
        assert profile is not None
        assert batches is not None
        measured = {(costs.context, costs.batch): costs for costs in profile.load}
        if not measured:
            raise ValueError(
                "profile must hold costs by batch ('specplan measure --batch'), or "
                "--target-config, --draft-config and --gpu be given, got neither"
            )
        contexts = self.context or dict.fromkeys(context for context, _ in measured)
        wanted = [(context, batch) for context in contexts for batch in batches]
        for context, batch in wanted:
            if (context, batch) not in measured:
                known = ", ".join(f"{b} at context {c}" for c, b in measured)
                raise ValueError(
                    f"batch must be one that the profile was measured at ({known}), got {batch} at "
                    f"context {context}"
                )
        gpu = profile.setup.device or "its machine"
        return tuple(
            Pricing(
                profile.cost_of(measured[context, batch]),
                batch=batch,
                load=Load(f"measured on {gpu}", context, gpu, profile.setup.dtype),
            )
            for context, batch in wanted
        )
