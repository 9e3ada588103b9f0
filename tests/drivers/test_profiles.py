"""Driver profiles are data: the built-in ones are right, a site's own are checked all at once."""

from pathlib import Path

import pytest

from app.drivers import ProfileError, builtin_profiles, load_profiles
from app.drivers.model import DriverProfile

OWN = """
name = "vgpu.example.org"
driver = "vgpu.example.org"
title = "A site's own driver"
deviceClass = "vgpu.example.org"
sharing = "memory"
privileged = "allow"
distinct = "vgpu.example.org/uuid"

[attributes]
uuid = "uuid"

[capacity]
memory = "memory"
"""


def test_the_built_in_profiles_name_what_the_drivers_publish() -> None:
    """Names and classes as in the drivers' own charts and sources."""
    hami = builtin_profiles()["hami-core-gpu.project-hami.io"]
    assert (hami.device_class, hami.type, hami.capacity.memory, hami.capacity.cores) == (
        "hami-core-gpu.project-hami.io",
        "hami-gpu",
        "memory",
        "cores",
    )
    nvidia = builtin_profiles()["gpu.nvidia.com"]
    assert (nvidia.device_class, nvidia.sharing, nvidia.capacity.cores) == ("gpu.nvidia.com", "exclusive", None)
    assert nvidia.mig is not None
    assert (nvidia.mig.device_class, nvidia.mig.profile, nvidia.mig.parent_uuid) == (
        "mig.nvidia.com",
        "profile",
        "parentUUID",
    )
    assert set(builtin_profiles()) == {
        "gpu.example.com",
        "gpu.nvidia.com",
        "gpu.nvidia.com-memory",
        "gpu.nvidia.com-shares",
        "gpu.nvidia.com-unlimited",
        "hami-core-gpu.project-hami.io",
    }


def test_only_drivers_that_enforce_limits_deny_privileged_containers() -> None:
    denying = {profile.name for profile in builtin_profiles().values() if profile.privileged == "deny"}
    assert denying == {"hami-core-gpu.project-hami.io"}


def test_a_sites_own_file_is_added(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    profiles = load_profiles([file])
    assert profiles["vgpu.example.org"].title == "A site's own driver"
    assert set(builtin_profiles()) < set(profiles)


def test_a_file_with_a_built_in_name_replaces_that_profile(tmp_path: Path) -> None:
    file = tmp_path / "nvidia.toml"
    file.write_text(OWN.replace('name = "vgpu.example.org"', 'name = "gpu.nvidia.com"'))
    assert load_profiles([file])["gpu.nvidia.com"].driver == "vgpu.example.org"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "not TOML"),
        (OWN.replace('sharing = "memory"', 'sharing = "sometimes"'), "sharing: Input should be 'exclusive', 'memory'"),
        (OWN + "\n[extra]\na = 1\n", "extra: Extra inputs are not permitted"),
        (OWN.replace('memory = "memory"', ""), "sharing 'memory' needs capacity.memory"),
        (OWN.replace('distinct = "vgpu.example.org/uuid"', 'distinct = "uuid"'), "must be fully qualified"),
        (OWN.replace('distinct = "vgpu.example.org/uuid"', ""), "needs distinct"),
        (OWN.replace('sharing = "memory"', 'sharing = "memory"\ntype = "gpu"'), "attributes.type"),
        (OWN.replace('driver = "vgpu.example.org"', 'driver = "Not A Name"'), "driver: String should match pattern"),
        (OWN.replace('title = "A site\'s own driver"', ""), "title: Field required"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_path(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(ProfileError) as caught:
        load_profiles([file])
    assert any(str(file) in one and problem in one for one in caught.value.problems)


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    one, two, three = tmp_path / "1.toml", tmp_path / "2.toml", tmp_path / "missing.toml"
    one.write_text("name = ")
    two.write_text(OWN.replace('title = "A site\'s own driver"', "").replace('sharing = "memory"', ""))
    with pytest.raises(ProfileError) as caught:
        load_profiles([one, two, three])
    assert len(caught.value.problems) == 4
    assert {str(one), str(two), str(three)} == {problem.split(":")[0] for problem in caught.value.problems}


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("1.toml", "2.toml"):
        (tmp_path / name).write_text(OWN)
    with pytest.raises(ProfileError, match="already defined by"):
        load_profiles([tmp_path / "1.toml", tmp_path / "2.toml"])


def test_profiles_cannot_be_changed() -> None:
    profile: DriverProfile = builtin_profiles()["gpu.nvidia.com"]
    with pytest.raises(ValueError, match="frozen"):
        profile.title = "x"  # type: ignore[misc]
