"""Versions, and which of them are unsafe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.protocol.capacity import Software
from computepool.protocol.versions import Minimum, read_version, unsafe_software, version_text

IN_ORDER = [
    "0.8.0",
    "1.1.5+ds1-1+deb12u1",
    "1.2.8~rc1",
    "1.2.8",
    "1.3.0-rc.1",
    "1.3.0-rc.2",
    "1.3.0",
    "1.3.3",
    "1.4.0-rc.3",
    "v1.4",
    "1.10.2",
    "1.17.8-1",
    "20.10.24+dfsg1",
    "release-20221219.0",
    "release-20240513.1",
]


def test_versions_follow_each_other_as_they_were_released():
    versions = [version for text in IN_ORDER if (version := read_version(text))]
    assert len(versions) == len(IN_ORDER)
    assert versions == sorted(versions)
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\nspec: 1.0.2-dev", "1.1.5"),
        ("Docker version 20.10.24+dfsg1, build 297e128", "20.10.24"),
        ("podman version 4.3.1", "4.3.1"),
        ("NVIDIA Container Toolkit CLI version 1.17.8\ncommit: f202b80a9b9d0db00d9b1d73c0128c8962c55f4d", "1.17.8"),
        ("cli-version: 1.14.0-rc.2", "1.14.0-rc.2"),
        ("v1.3", "1.3.0"),
        ("570.86.15", "570.86.15"),
    ],
)
def test_a_version_is_found_in_what_a_tool_says(text, same_as):
    assert read_version(text) == read_version(same_as)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1", "1.1.5+ds1"),
        ("Docker version 20.10.24+dfsg1, build 297e128", "20.10.24+dfsg1"),
        ("runsc version release-20240513.1\nspec: 1.1.0-rc.1", "20240513.1"),
        ("bubblewrap 0.8.0", "0.8.0"),
        ("no number", ""),
    ],
)
def test_a_version_is_kept_as_it_is_written(text, written):
    assert version_text(text) == written


@pytest.mark.parametrize("text", ["", "unknown", "main-abc123", "GPU-1a2b", "runc"])
def test_no_version_is_made_up(text):
    assert read_version(text) is None


@pytest.mark.parametrize(
    ("name", "version", "needed"),
    [
        ("runc", "1.1.5+ds1-1+deb12u1", "1.2.8"),
        ("runc", "1.2.7", "1.2.8"),
        ("runc", "1.2.8-rc.1", "1.2.8"),
        ("runc", "1.3.0", "1.3.3"),
        ("runc", "1.3.2", "1.3.3"),
        ("runc", "1.4.0-rc.2", "1.4.0-rc.3"),
        ("runc", "unknown", "1.2.8"),
        ("runc", "", "1.2.8"),
        ("nvidia-container-toolkit", "1.17.7", "1.17.8"),
        ("nvidia-container-toolkit", "1.9.0", "1.17.8"),
        ("nvidia-container-toolkit", "1.17.8~rc.1", "1.17.8"),
    ],
)
def test_an_unsafe_version_is_named_with_the_one_that_mends_it(name, version, needed):
    (found,) = unsafe_software([Software(name=name, version=version)])
    assert (found.name, found.needed) == (name, needed)
    assert f"below the minimum {needed}" in str(found)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("runc", "1.2.8"),
        ("runc", "1.2.9+ds1"),
        ("runc", "1.3.3"),
        ("runc", "1.4.0-rc.3"),
        ("runc", "1.4.0"),
        ("runc", "2.0"),
        ("nvidia-container-toolkit", "1.17.8"),
        ("nvidia-container-toolkit", "1.18.0-rc.1"),
        ("crun", "0.1"),
        ("docker", "unknown"),
    ],
)
def test_a_version_without_a_known_fault_is_left_alone(name, version):
    assert unsafe_software([Software(name=name, version=version)]) == []


def test_a_hub_may_ask_for_more():
    minimum = Minimum("docker", since="24.0", why="the hub's choice")
    (found,) = unsafe_software([Software(name="docker", version="20.10.24+dfsg1")], [minimum])
    assert str(found) == "docker 20.10.24+dfsg1 is below the minimum 24.0: the hub's choice"


@given(st.lists(st.integers(0, 999), min_size=2, max_size=4), st.integers(0, 3))
def test_a_higher_number_is_a_later_version(numbers, place):
    place = min(place, len(numbers) - 1)
    later = [*numbers[:place], numbers[place] + 1, *numbers[place + 1 :]]
    earlier_version, later_version = (read_version(".".join(map(str, each))) for each in (numbers, later))
    assert earlier_version is not None
    assert later_version is not None
    assert earlier_version < later_version


@given(st.text(max_size=60))
def test_any_text_can_be_asked_for_its_version(text):
    read_version(text)
    unsafe_software([Software(name="runc", version=text)])
