"""Every reason and warning: a word, the rule behind it and one sentence.

The word is the metric label, log field and JSON value; the sentence is the general form for people
(``docs/reasons.md`` has an anchor for each). Messages of a decision add what was read and where.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Reason(StrEnum):
    """A reason word with its rule and sentence."""

    rule: str
    """Number in ``docs/translation.md``; empty when no rule is behind it."""
    sentence: str

    def __new__(cls, word: str, rule: str, sentence: str) -> Self:
        """Members are plain strings (the word) that carry their rule and sentence."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.rule = rule
        member.sentence = sentence
        return member

    # Why a pod is converted or left alone.
    CONVERTED = "converted", "S64", "Legacy keys were replaced by generated resource claims."
    NO_LEGACY_KEYS = "no-legacy-keys", "S1", "No container asks for a configured legacy resource."
    OPTED_OUT = "opted-out", "S2", "A label on the pod or its namespace keeps the webhook away."
    MIRROR_POD = "mirror-pod", "S3", "Mirror pods belong to the kubelet and are never changed."
    FOREIGN_SCHEDULER = "foreign-scheduler", "S4", "Another scheduler, not known to allocate claims, places the pod."
    ALREADY_CONVERTED = "already-converted", "S5", "A later round of the same admission found nothing left to do."
    INVALID_REQUEST = "invalid-request", "S6", "The API server refuses this request; it is left for its own message."
    KEYS_STAY = "keys-stay", "S9", "Legacy keys are there, but none of them can be converted, so they stay."
    NATIVE = "native", "S67", "Kubernetes itself turns the whole-card request into a claim."
    REAPPLIED = "reapplied", "S60", "The same manifest was applied again; what was converted stays converted."
    OTHER_OPERATION = "other-operation", "S5", "Only creating a pod converts it; other operations pass."
    UPDATE_UNTOUCHED = "update-untouched", "S60", "The update is not a plain re-apply; the API server decides."

    # Why a pod is denied.
    NODE_NAME = "node-name", "S7", "The pod names its node, so no scheduler would allocate its claims."
    PRIVILEGED = "privileged", "S8", "A privileged container escapes the limits of a shared card."
    MEMORY_TOO_LARGE = "memory-too-large", "S11", "The unit of memory is MiB, and the number is too large for a card."
    NUMBER_TOO_LARGE = "number-too-large", "S11", "The number does not fit 64 bits."
    PERCENTAGE_OUT_OF_RANGE = "percentage-out-of-range", "S13", "A memory percentage is an integer from 0 to 100."
    TOO_MANY_DEVICES = "too-many-devices", "S15", "One claim allocates at most 32 devices."
    CARD_SIZE_UNKNOWN = "card-size-unknown", "S38", "The memory of the cards must be known to compute the amount."
    NO_ALTERNATIVES = "no-alternatives", "S38", "The driver does not read claims with alternatives."
    NO_SHARING = "no-sharing", "S39", "The driver hands out whole cards only, and the settings refuse a share."
    DEVICE_CLASS_MISSING = "device-class-missing", "S46", "The DeviceClass behind the request does not exist."
    LIST_TOO_LONG = "list-too-long", "S50", "The list does not fit one selector of a claim."
    VGPU_MODE_UNSERVED = "vgpu-mode-unserved", "S52", "No bound driver serves the asked vgpu-mode."
    MIG_MODE_WITHOUT_MEMORY = "mig-mode-without-memory", "S52", "A MIG device is chosen by memory, and none is asked."
    NUMA_UNPUBLISHED = "numa-unpublished", "S53", "The driver publishes no NUMA node, and the settings demand one."
    LIMIT_RANGE = "limit-range", "S72", "A LimitRange bounds a legacy key and refuses pods without it."
    FEATURE_GATE_OFF = "feature-gate-off", "S42", "The API server drops a field that the claim needs."
    TEMPLATE_REFUSED = "template-refused", "S62", "The API server refused the ResourceClaimTemplate."
    TEMPLATE_UNAVAILABLE = "template-unavailable", "S62", "The API server cannot be reached for a new template."
    INTERNAL_ERROR = "internal-error", "", "The webhook failed; its log has the details."

    # Warnings about numbers.
    WHOLE_CARDS_ONLY = "whole-cards-only", "S6", "Extended resources are integers: whole cards only."
    CORES_ABOVE_100 = "cores-above-100", "S14", "Cores above 100 count as 100."
    FULL_CORES_SHARED = "full-cores-shared", "S30", "All cores of a share: a neighbour without cores may still join."
    FULL_CORES_WHOLE_CARD = "full-cores-whole-card", "S30", "All cores take the whole card, as the settings ask."
    MEMORY_AND_PERCENTAGE = "memory-and-percentage", "S31", "Both memory keys are given; the amount wins."
    NO_DEFAULT_COUNT = "no-default-count", "S33", "No card count is given and the default is 0, so the keys stay."
    MEMORY_FOR_ZERO_CARDS = "memory-for-zero-cards", "S34", "Memory or cores are asked for zero cards."
    PRIORITY_RANGE = "priority-range", "S35", "Priority is 0 or 1."
    PRIORITY_WITHOUT_CARD = "priority-without-card", "S35", "A priority without a card is no GPU request and stays."
    ASSUMED_CARD_SIZES = "assumed-card-sizes", "S38", "Card sizes are not known here; common ones are assumed."
    CARD_SIZES_LEFT_OUT = "card-sizes-left-out", "S38", "A claim has room for 8 card sizes; the rarest are left out."
    WHOLE_CARD_INSTEAD = "whole-card-instead", "S39", "The driver does not share cards: whole cards are taken."
    CORES_UNSUPPORTED = "cores-unsupported", "S40", "The driver has no cores; the limit has no effect."
    SHARED_UNBOUND = "shared-unbound", "S41", "No driver with counted shares serves it here; the key stays."

    # Warnings about names.
    NEAR_MISS = "near-miss", "S9", "The key looks like a configured one; it stays."
    MIG_NAME = "mig-name", "S43", "Not the name of a MIG profile; the key stays."
    MIG_UNBOUND = "mig-unbound", "S46", "No driver for MIG devices is there; the key stays."
    SEVERAL_SLICES = "several-slices", "S43", "A program uses one MIG slice, however many it sees."

    # Warnings about annotations.
    ANNOTATION_ON_MIG = "annotation-on-mig", "S50", "The annotation never had an effect on mig-* and shared keys."
    ANNOTATION_UNSERVED = "annotation-unserved", "S50", "The driver publishes nothing that the annotation chooses by."
    UUID_FORM = "uuid-form", "S50", "Not the UUID of a card."
    UUID_UNKNOWN = "uuid-unknown", "S50", "No card of this cluster has that UUID."
    WIDE_COMMA = "wide-comma", "S50", "A full-width comma does not separate names."
    ALLOWS_NOTHING = "allows-nothing", "S50", "An allow list without a name allows nothing: the pod waits for ever."
    TYPE_MATCHES_MORE = "type-matches-more", "S51", "A card type is a part of the product name and matches more."
    TYPE_UNKNOWN = "type-unknown", "S51", "No card of this cluster matches."
    TYPE_DOUBLE_PREFIX = "type-double-prefix", "S51", "NVIDIA- in front of NVIDIA matches no product."
    VGPU_MODE_BLANK = "vgpu-mode-blank", "S52", "A blank mode is no constraint."
    MIG_FIRST_FIT = "mig-first-fit", "S52", "MIG sizes are not known here; the first that is large enough is taken."
    NUMA_IGNORED = "numa-ignored", "S53", "The driver publishes no NUMA node; cards may come from several."
    WITHOUT_EFFECT = "without-effect", "S54", "Scheduling policies of HAMi have no form in DRA."
    SCHEDULER_OWNED = "scheduler-owned", "S55", "The annotation belongs to the old scheduler and is ignored."

    # Warnings about the pod.
    SCHEDULER_WITHOUT_KEYS = "scheduler-without-keys", "S4", "The old scheduler is named, but nothing legacy is asked."
    VALUE_DIFFERS = "value-differs", "S5", "A key came back with another value than the one that was converted."
    NODE_NAME_PINNED = "node-name-pinned", "S7", "nodeName became a required affinity; the node's taints now apply."
    INIT_LARGER_LIMIT = "init-larger-limit", "S65", "An init container shares a claim and gets its limits, not its own."
    INIT_OWN_CLAIM = "init-own-claim", "S65", "An init container's own claim is held until the pod ends and adds up."
    VISIBLE_DEVICES = "visible-devices", "S70", "NVIDIA_VISIBLE_DEVICES may show cards beyond the claim."
    DISABLE_CONTROL = "disable-control", "S70", "CUDA_DISABLE_CONTROL is kept; the driver decides what it does."
    PRODUCT_SELECTOR = "product-selector", "S70", "The node selector names a product that DRA nodes do not carry."
    KUEUE = "kueue", "S70", "Kueue counts the workload's own keys, not the claims of its pods."
    MISSPELT_OPT_OUT = "misspelt-opt-out", "S70", "Looks like an opt-out, but is not one."

    # What only a preview can see.
    ANNOTATION_ON_WORKLOAD = "annotation-on-workload", "S70", "The annotation belongs on the pod template."
    RESOURCES_OUTSIDE_CONTAINER = "resources-outside-container", "S71", "Resources outside a container ask nothing."
    QUOTA_STOPS_COUNTING = "quota-stops-counting", "S73", "A quota on a legacy key stops counting converted pods."
    LIMIT_RANGE_ON_KEY = "limit-range-on-key", "S72", "A LimitRange on a legacy key."

    @property
    def anchor(self) -> str:
        """Where the documentation explains it."""
        return f"docs/reasons.md#{self.value}"
