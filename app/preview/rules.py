"""The rules that shape a claim or change a pod, in one sentence each, with the setting or annotations that decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.translate.selection import MODE, NOT_TYPE, NOT_UUID, NUMA, USE_TYPE, USE_UUID


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, for the explanation of a pod."""

    sentence: str
    setting: str | None = None
    """Dotted name of the setting that decides, as in the settings file."""
    annotations: tuple[str, ...] = ()
    """Annotations of the pod that decide."""


RULES: Final[dict[str, Rule]] = {
    "S4": Rule("the old scheduler is gone"),
    "S5": Rule("converted in an earlier round of this admission: what came back goes again"),
    "S7": Rule("a pod that names its node skips the scheduler, which allocates claims"),
    "S12": Rule("a setting gives the number, or multiplies it"),
    "S20": Rule("a count alone is a whole card for itself: all memory, all cores"),
    "S21": Rule("a count alone is whole cards for itself: all memory, all cores"),
    "S22": Rule("a memory limit shares the card; cores are 0, which is no limit, so that neighbours fit"),
    "S23": Rule("a memory limit counts on each card; cores are 0, which is no limit, so that neighbours fit"),
    "S24": Rule("a percentage is a part of the memory of whichever card is taken; cores as given, else 0, no limit"),
    "S25": Rule("100 % is a whole card for itself: all memory, all cores"),
    "S26": Rule("0 means unset: all memory, but unlike a bare count no cores are taken"),
    "S27": Rule("cores without memory: all memory, and that part of the cores"),
    "S28": Rule("an explicit 0 takes no cores; all memory"),
    "S29": Rule("memory and cores are both limits on each card"),
    "S30": Rule("all cores keep out everybody who asks for cores", setting="exclusiveCores"),
    "S31": Rule("both memory keys are given: the amount wins"),
    "S32": Rule("both memory keys are given: the amount wins, 100 % still takes all cores"),
    "S33": Rule("no count is given, so the default counts", setting="defaultGPUNum"),
    "S34": Rule("nothing is asked for zero devices: the keys go"),
    "S35": Rule("the priority reaches the program as a variable"),
    "S36": Rule("cores are always written: the driver's default of 100 would keep every neighbour away"),
    "S37": Rule("several devices are different cards, on this scheduler too", setting="schedulerVersion"),
    "S38": Rule("one alternative for each card size, with the percentage of that size", setting="cardMemoryMiB"),
    "S39": Rule("the driver does not share cards", setting="noSharing"),
    "S40": Rule("the driver shares by memory: a whole card asks all of it, cores are never asked"),
    "S41": Rule("a shared name is a share of a device, one of a counted number", setting="bindings.nvidia.shared"),
    "S43": Rule("the name of a MIG resource holds the profile", setting="bindings.nvidia.mig"),
    "S44": Rule("what a plain count means at this site", setting="nvidia.count"),
    "S45": Rule("cards, shares and MIG devices in one container: one claim for each driver"),
    "S50": Rule("only these cards may be taken, or all but these", annotations=(USE_UUID, NOT_UUID)),
    "S51": Rule("only products that hold such a text, or all that do not", annotations=(USE_TYPE, NOT_TYPE)),
    "S52": Rule("the kind of device; MIG devices by memory, smallest first", annotations=(MODE,)),
    "S53": Rule("all cards come from one NUMA node", setting="numaBind", annotations=(NUMA,)),
    "S60": Rule("the same manifest was applied again: what was converted stays converted"),
    "S65": Rule("an init container shares the smallest claim that covers it, else it holds its own, as a sidecar does"),
    "S68": Rule("an option adds what the pod does not set itself"),
}
"""By name. A rule that a decision names and this table lacks is a fault that a test finds."""
