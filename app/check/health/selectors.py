"""Label selectors and CEL conditions, evaluated as an API server does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

JSON = Any
Labels = Mapping[str, str]


def selects(selector: Mapping[str, JSON] | None, labels: Labels) -> bool:
    """Whether a LabelSelector selects something with these labels; an absent one selects everything."""
    selector = selector or {}
    exact = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or ()
    return all(labels.get(key) == value for key, value in exact.items()) and all(
        _holds(expression, labels) for expression in expressions
    )


def _holds(expression: Mapping[str, JSON], labels: Labels) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


class ConditionError(ValueError):
    """A condition that cannot be evaluated here; the text says why."""


def all_true(conditions: Sequence[Mapping[str, str]], pod: JSON) -> bool:
    """Whether all matchConditions of a webhook are true for a pod that is created.

    Raises:
        ConditionError: one of them uses something that is not known here, or fails on this pod.
    """
    from cel_expr_python import cel  # noqa: PLC0415 - a library of 20 MiB that only this check needs

    environment = cel.NewEnv(variables={"object": cel.Type.DYN, "oldObject": cel.Type.DYN})
    for condition in conditions:
        try:
            result = environment.compile(condition["expression"]).eval(data={"object": pod, "oldObject": None})
        except RuntimeError as error:
            raise ConditionError(f"condition {condition['name']}: {' '.join(str(error).split())}") from error
        value = result.value()
        if not isinstance(value, bool):
            raise ConditionError(f"condition {condition['name']}: {value}")
        if not value:
            return False
    return True
