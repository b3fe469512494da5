"""Two deployments of round numbers: a dense target and a mixture, each with a head that drafts."""

from types import MappingProxyType

import numpy as np

from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.machine import COUNT, Machine, RooflineMachine
from simulator.cost.fitted.prior import Prior
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import Deployment
from simulator.cost.roofline.hardware import Hardware
from simulator.cost.roofline.shapes import CacheLayers, DraftShape, ModelShape, Weights

GPU = Hardware("test", MappingProxyType({"bfloat16": 1e15}), 1e12, 1e11, 1e11, 1e-5, "", "")
CACHE = CacheLayers("full", 10, 1000.0, 0.0, None, 4000.0, 8)


def shape(*weights: Weights, layers: int = 10) -> ModelShape:
    """Returns a model of these weights."""
    return ModelShape("test", layers, 1000, 8, 1000, weights, (CACHE,), "bfloat16")


def dense(values: int) -> Weights:
    """Returns 16-bit weights that every token is multiplied by."""
    return Weights("feed-forward", values, 2.0 * values, "bfloat16")


EXPERTS = Weights("experts", 8 * 10**9, 16e9, "bfloat16", experts=64, active=4)
DRAFT = DraftShape("EAGLE-3", shape(dense(10**8), layers=1), False, None, 2e8)
SERVED = RooflineMachine(Deployment(shape(dense(10**9)), DRAFT, GPU))
MIXTURE = RooflineMachine(Deployment(shape(dense(10**9), EXPERTS), DRAFT, GPU))


def cost_at(machine: Machine, load: LoadPoint, logs: np.ndarray) -> ParametricCost:
    """Returns the cost of a machine whose parameters are known."""
    posterior = infer(machine, Prior(logs, np.zeros((COUNT, COUNT)), 0.0, 0.0), [])
    return ParametricCost(posterior, load)
