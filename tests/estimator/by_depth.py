"""Counts of deep models from two shallow ones, where all layers are alike."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from estimator.model_shapes.counting import Counted, count


def count_by_depth(config: Mapping[str, Any], *_: object) -> Counted:
    """Returns the count of a model of one layer and what each further layer adds to it."""
    name = next(each for each in ("num_hidden_layers", "n_layer") if each in config)
    one, two = (count({**config, name: layers}) for layers in (1, 2))
    more = config[name] - 1
    return replace(
        one,
        layers=one.layers + more,
        weights=tuple(
            replace(
                a,
                values=a.values + more * (b.values - a.values),
                matrices=tuple(
                    m._replace(copies=m.copies + more * (n.copies - m.copies))
                    for m, n in zip(a.matrices, b.matrices, strict=True)
                ),
            )
            for a, b in zip(one.weights, two.weights, strict=True)
        ),
        caches=tuple(
            replace(a, layers=a.layers + more * (b.layers - a.layers))
            for a, b in zip(one.caches, two.caches, strict=True)
        ),
    )
