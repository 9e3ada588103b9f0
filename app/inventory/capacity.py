"""How much of a shared device a request takes: KEP-5075 as the scheduler of Kubernetes 1.36 does it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from app.inventory.model import Capacity, Device, Number, RequestPolicy

Demand = Mapping[str, Number]
"""What a request takes of each capacity of a device, by name as published."""


def demand(requests: Mapping[str, Number], device: Device) -> Demand | None:
    """What a request takes of a device, with defaults and rounding; None where the device can never serve it.

    Args:
        requests: ``capacity.requests`` by name. Names are compared literally, as published.
        device: any device. One that is not shared is taken whole, and its capacities only filter.
    """
    if not requests.keys() <= device.capacity.keys():
        return None
    taken: dict[str, Number] = {}
    for name, capacity in device.capacity.items():
        amount = _amount(requests.get(name), capacity)
        if amount > capacity.value or (capacity.policy is not None and _refused(amount, capacity.policy)):
            return None
        taken[name] = amount
    return taken


def _amount(asked: Number | None, capacity: Capacity) -> Number:
    """The amount after defaults and rounding up."""
    policy = capacity.policy
    if asked is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return asked
    if policy.minimum is not None:
        return _in_range(asked, policy.minimum, policy.step)
    return next((value for value in policy.valid_values if asked <= value), asked)


def _in_range(asked: Number, minimum: Number, step: Number | None) -> Number:
    if asked < minimum:
        return minimum
    if step is None:
        return asked
    low, width = math.ceil(minimum), math.ceil(step)  # the scheduler counts steps in whole units, rounded up
    return low + width * -((low - math.ceil(asked)) // width)


def _refused(amount: Number, policy: RequestPolicy) -> bool:
    """The amount is not one that the policy allows; its default always is."""
    if amount == policy.default:
        return False
    if policy.valid_values:
        return amount not in policy.valid_values
    if policy.maximum is not None and amount > policy.maximum:
        return True
    if policy.step is None or policy.minimum is None:
        return False
    return (math.ceil(amount) - math.ceil(policy.minimum)) % math.ceil(policy.step) != 0
