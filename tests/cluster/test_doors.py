"""One decision, whichever door a manifest comes through: command line, endpoint, page, or the webhook itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Browser

from app.translate import quantity
from tests.browser.chromium import chromium
from tests.cluster import doors
from tests.cluster.corpus_machines import CLASSES, machine_with_everything
from tests.cluster.corpus_objects import taken_for_granted
from tests.cluster.since import scheduler_setting
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.control_plane import ControlPlane
from tests.cluster.testbed.namespace import Namespace
from tests.cluster.testbed.webhook import Webhook
from tests.corpus.cases import Case, load

JSON = Any
MACHINES = (machine_with_everything(), *CLASSES)
ABOUT_THE_WORKLOAD = re.compile(r"an annotation on the|kueue counts|resources outside a container")
"""Warnings about an object above the pod, which the webhook does not see."""
_QUANTITY = re.compile(r'(?<= is )(?:"[^"]+"|[\d.]+)(?= in container)')
DECISION = ("source", "outcome", "reasons", "warnings", "containers", "templates", "pod", "patch", "explanation")
"""Members of an item that hold what was decided and why."""
CASES = [case for case in load() if not case.needs]


@pytest.fixture(scope="module", autouse=True)
def surroundings(api: Api) -> Iterator[None]:
    """What the manifests take for granted."""
    with taken_for_granted(api):
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def opted_in(control_plane: ControlPlane) -> Iterator[Namespace]:
    namespace = Namespace(control_plane, "opted-in")
    yield namespace
    namespace.remove()


@pytest.fixture(scope="module")
def plain(control_plane: ControlPlane) -> Iterator[Namespace]:
    """Where the webhook is not called."""
    namespace = Namespace(control_plane, "plain", labels={})
    yield namespace
    namespace.remove()


@pytest.fixture(scope="module")
def printed(
    machines: None, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Case], doors.Items]:
    """What the command line says of a case, which the other doors are compared with."""
    del machines  # they are published before they are read
    folder = tmp_path_factory.mktemp("doors")
    slices = folder / "cluster.yaml"
    slices.write_text(control_plane.kubectl("get", "resourceslices,deviceclasses", "-o", "yaml", check=True).stdout)
    by_id, settings = {case.id: case for case in CASES}, scheduler_setting(control_plane)
    said = cache(lambda case_id: doors.command_line(by_id[case_id], slices, folder, settings))
    return lambda case: said(case.id)


@pytest.fixture(scope="module")
def on_the_page(webhook: Webhook, browser: Browser) -> Mapping[str, doors.Items]:
    """What the page shows of every case that needs no settings of its own."""
    return doors.page([case for case in CASES if not case.settings], webhook, browser)


@pytest.fixture
def replica(webhook: Webhook, start_webhook: Callable[..., Webhook]) -> Callable[[Case], Webhook]:
    """The registered webhook with the settings of a case."""
    return lambda case: start_webhook(case.settings) if case.settings else webhook


def decisions(items: doors.Items) -> list[dict[str, JSON]]:
    return [{**{k: item[k] for k in DECISION}, "matches": matches(item), "explanation": rows(item)} for item in items]


def rows(item: JSON) -> list[dict[str, JSON]]:
    """The explanation; how one learns of the scheduler's version is the door's own affair."""
    told = [{**row, "setting": row["setting"] or {}} for row in item["explanation"]]
    return [row if row["setting"].get("name") != "schedulerVersion" else {**row, "setting": {}} for row in told]


def matches(item: JSON) -> list[dict[str, JSON]]:
    """What the claims of an item match; only the command line also says on which nodes."""
    return [{key: value for key, value in match.items() if key != "nodeNames"} for match in item["matches"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_endpoint_answers_what_the_command_line_prints(
    case: Case, printed: Callable[[Case], doors.Items], replica: Callable[[Case], Webhook]
) -> None:
    assert decisions(doors.endpoint(case, replica(case))) == decisions(printed(case))


@pytest.mark.timeout(300)  # the first one reads the page for all of them
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_page_shows_what_the_command_line_prints(
    case: Case,
    printed: Callable[[Case], doors.Items],
    replica: Callable[[Case], Webhook],
    on_the_page: Mapping[str, doors.Items],
    browser: Browser,
) -> None:
    shown = on_the_page.get(case.id) or doors.page([case], replica(case), browser)[case.id]
    assert decisions(shown) == decisions(printed(case))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_webhook_does_what_the_preview_says(
    case: Case,
    printed: Callable[[Case], doors.Items],
    replica: Callable[[Case], Webhook],
    opted_in: Namespace,
    plain: Namespace,
) -> None:
    """Every pod is created, and compared with the previewed one as the API server stores it."""
    replica(case)
    items, pods = printed(case), doors.pods_in(case)
    assert len(items) == len(pods)
    for item, pod in zip(items, pods, strict=True):
        answered = doors.create(opted_in, pod)
        assert list(differences(item, pod, answered, opted_in, plain)) == [], item["source"]


def differences(
    item: JSON, pod: JSON, answered: doors.Admitted, opted_in: Namespace, plain: Namespace
) -> Iterator[str]:
    """What the webhook did otherwise than the item of a report says."""
    if answered.outcome != item["outcome"]:
        yield f"{item['outcome']} became {answered.outcome}: {answered.message}"
        return
    if answered.outcome == "denied":
        yield from (
            f"not said: {reason}"
            for reason in item["reasons"]
            if f"{reason['message']} ({reason['code']})" not in answered.message
        )
    previewed = doors.create(plain, doors.as_pod(item["pod"] or pod), dry_run=True)
    if item["pod"] is not None and answered.pod != previewed.pod:
        yield f"admitted as {answered.pod}, previewed as {previewed.pod}: {previewed.message}"
    by_webhook = [spelled(text) for text in answered.warnings if text not in previewed.warnings]  # the API server's own
    by_preview = [spelled(text) for text in item["warnings"]]
    alone = [text for text in by_webhook if not any(starts(one, text) for one in by_preview)]
    yield from (f"the webhook alone warned: {text}" for text in alone)
    alone = [text for text in by_preview if not any(starts(text, one) for one in by_webhook)]
    yield from (f"the preview alone warned: {text}" for text in alone if not ABOUT_THE_WORKLOAD.search(text))
    for template in item["templates"] if item["outcome"] == "converted" else ():
        name = template["metadata"]["name"]
        made = opted_in.api.find("ResourceClaimTemplate", name, opted_in.name)
        previewed_one = plain.create({**template, "metadata": {"name": name}}, dry_run=True)
        if made is None or made["spec"] != previewed_one["spec"]:
            yield f"{name} is {made and made['spec']}, previewed as {template['spec']}"


def spelled(text: str) -> str:
    """A text with quantities as the API server spells them: ``0.5`` is ``500m`` when the webhook sees it."""
    return _QUANTITY.sub(lambda match: f'"{quantity.canonical(match[0].strip(chr(34)))}"', text)


def starts(text: str, said: str) -> bool:
    """A warning is the beginning of a text: the API server passes on 120 characters of each."""
    return text.startswith(said.removesuffix("…"))
