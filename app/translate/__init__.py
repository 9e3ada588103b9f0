"""The translation: what a legacy GPU request becomes on DRA. Pure: no I/O, clock, randomness, logging or globals."""

from app.translate.decision import Change, Claim, Decision, Note, Outcome, Role, Template
from app.translate.facts import Device, DeviceClass, Facts, facts_from_objects
from app.translate.memory import forget
from app.translate.operations import Request, translate_request
from app.translate.policy import Policy, PolicyError
from app.translate.reasons import Reason
from app.translate.recorded import recorded_templates
from app.translate.settings import TranslationSettings
from app.translate.translate import translate
from app.translate.update import translate_update

__all__ = [
    "Change",
    "Claim",
    "Decision",
    "Device",
    "DeviceClass",
    "Facts",
    "Note",
    "Outcome",
    "Policy",
    "PolicyError",
    "Reason",
    "Request",
    "Role",
    "Template",
    "TranslationSettings",
    "facts_from_objects",
    "forget",
    "recorded_templates",
    "translate",
    "translate_request",
    "translate_update",
]
