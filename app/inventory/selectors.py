"""CEL selectors of classes and requests, evaluated with Google's runtime as the scheduler evaluates them.

A map of the scheduler answers an unknown *domain* with an empty map, an unknown *id* with an error. The runtime knows
no such maps. So the domains that an expression indexes are added to the maps that it indexes; where it uses a map as a
whole (``"x" in device.attributes``) it gets the one that was published.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from app.inventory.functions import box_quantity, box_version, declarations
from app.inventory.model import Attribute, Device, Number
from app.inventory.reads import WHOLE_MAPS, Read, Reads, find_reads

Verdict = bool | str
"""Whether a device is selected, or the error that evaluating the selector ends in."""
_ERROR: Final = "ERROR"
_MAX_BYTES: Final = 10 * 1024
"""CELSelectorExpressionMaxLength. A longer expression exists nowhere, and is not worth reading."""


class UnreadableError(ValueError):
    """An expression that does not compile here."""


@dataclass(slots=True)
class Selector:
    """One compiled expression and its results so far.

    Raises:
        UnreadableError: it does not compile.
    """

    expression: str
    _reads: Reads = field(init=False)
    _program: Any = field(init=False)
    _results: dict[object, Verdict] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.expression.encode()) > _MAX_BYTES:
            raise UnreadableError(f"longer than {_MAX_BYTES} bytes")
        self._reads, environment = find_reads(self.expression), _environment()
        try:
            self._program = environment.compile(self._reads.text)
        except RuntimeError as error:
            raise UnreadableError(_first_line(str(error))) from error

    def __call__(self, device: Device) -> Verdict:
        """Whether the device is selected, or the error."""
        if device.unreadable is not None:
            return device.unreadable
        key = seen(device, self._reads.values)
        verdict = self._results.get(key)
        if verdict is None:
            verdict = self._results[key] = self._evaluate(device)
        return verdict

    @property
    def reads(self) -> frozenset[Read] | None:
        """What it reads of a device by name; None where it may read anything."""
        return self._reads.values

    def _evaluate(self, device: Device) -> Verdict:
        domains = self._reads.domains | {device.driver}
        published = _nested((name, _boxed(value)) for name, value in device.attributes.items())
        capacity = _nested((device.qualified(name), box_quantity(one.value)) for name, one in device.capacity.items())
        data = {
            "driver": device.driver,
            "allowMultipleAllocations": device.shareable,
            "attributes": {**{domain: {} for domain in domains}, **published},
            "capacity": {**{domain: {} for domain in domains}, **capacity},
            WHOLE_MAPS["attributes"]: published,
            WHOLE_MAPS["capacity"]: capacity,
        }
        try:
            result = self._program.eval(data={"device": data})
        except (RuntimeError, TypeError, ValueError, OverflowError) as error:  # a value that is none of CEL's
            return _first_line(str(error))
        kind = result.type().name()
        if kind == _ERROR:
            return _first_line(str(result.value()))
        value = result.value()
        return value if isinstance(value, bool) else f"the result of type {kind.lower()} is no boolean"


def load_cel() -> None:
    """Load the CEL library now, for a process that is about to bound its memory."""
    _environment()


@cache
def _environment() -> Any:
    """The CEL environment of device selectors. Imported late: the webhook never needs it."""
    from cel_expr_python import cel  # noqa: PLC0415
    from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings  # noqa: PLC0415

    return cel.NewEnv(
        variables={"device": cel.Type.DYN},
        extensions=[ext_strings.ExtStrings(), ext_bindings.ExtBindings(), ext_optional.ExtOptional()],
        functions=declarations(cel),
    )


def _boxed(value: Attribute) -> object:
    return box_version(str(value.value)) if value.kind == "version" else value.value


def _nested(pairs: Iterator[tuple[str, object]]) -> dict[str, dict[str, object]]:
    """By domain and id, from qualified names."""
    maps: dict[str, dict[str, object]] = {}
    for name, value in pairs:
        domain, _, identifier = name.partition("/")
        maps.setdefault(domain, {})[identifier] = value
    return maps


def seen(device: Device, reads: frozenset[Read] | None) -> object:
    """What reads see of a device: equal for devices that they cannot tell apart."""
    if reads is None:
        capacity = frozenset((device.qualified(name), one.value) for name, one in device.capacity.items())
        return device.driver, device.shareable, frozenset(device.attributes.items()), capacity
    return (device.driver, device.shareable, *(_value(device, read) for read in reads))


def _value(device: Device, read: Read) -> Attribute | Number | None:
    domain = device.driver if read.domain is None else read.domain
    name = f"{domain}/{read.identifier}"
    if read.map == "attributes":
        return device.attributes.get(name)
    found = device.capacity.get(name)
    if found is None and domain == device.driver:
        found = device.capacity.get(read.identifier)
    return None if found is None else found.value


def _first_line(text: str) -> str:
    """The runtime's message without its code word and its drawing."""
    lines = text.strip().splitlines()
    return re.sub(r"^[A-Z_]+: (ERROR: <input>:)?", "", lines[0]) if lines else "it cannot be evaluated"
