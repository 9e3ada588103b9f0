"""The template store as its callers see it: one method and the ways in which it can fail."""
# ruff: noqa: N818  (the names say what happened, and nothing is added by ending each in "Error")

from __future__ import annotations

from typing import ClassVar, Protocol

from app.translate import Template


class TemplateError(Exception):
    """A pod cannot have its template; the text is for the person who created the pod."""

    reason: ClassVar[str]
    """One word for metrics."""


class TemplateNameTaken(TemplateError):
    """A template with this name exists and asks for something else: translate again, avoiding the name (S62)."""

    reason = "name-taken"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"a ResourceClaimTemplate named {name} exists already and asks for something else")


class TemplateRefused(TemplateError):
    """The API server refused the template: quota, permission, validation. ``message`` holds its own words."""

    reason = "refused"

    def __init__(self, message: str, code: int) -> None:
        self.message = message
        self.code = code
        """HTTP status of the refusal."""
        super().__init__(message)


class TemplateFieldDropped(TemplateError):
    """The API server lost a field, so the claim would ask for something else; ``message`` names the feature gate."""

    reason = "field-dropped"

    def __init__(self, fields: tuple[str, ...], message: str) -> None:
        self.fields = fields
        """Paths inside the claim spec, as in ``devices.requests[0].exactly.capacity``."""
        self.message = message
        super().__init__(message)


class StoreUnavailable(TemplateError):
    """The API server cannot be reached, is too slow, or fails for reasons of its own; trying again may help."""

    reason = "unavailable"

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class TemplateStore(Protocol):
    """Makes sure that a template exists before its pod is admitted."""

    async def ensure(self, namespace: str, template: Template, *, dry_run: bool = False) -> None:
        """Return when the template exists in the namespace; in a dry run, when nothing speaks against it.

        Raises:
            TemplateNameTaken: the name belongs to other content.
            TemplateRefused: the API server says no.
            TemplateFieldDropped: the API server would store something else.
            StoreUnavailable: the template is not known to exist, and the API server does not answer.
        """
