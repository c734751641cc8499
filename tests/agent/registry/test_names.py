"""A name says at which registry an image is, and what is wanted there."""

import pytest

from computepool.agent.images import ImageMissing
from computepool.agent.registry.names import DEFAULT_HOST, read_name

PINNED = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("name", "registry", "path", "reference"),
    [
        ("python", f"{DEFAULT_HOST}:443", "library/python", "python:latest"),
        ("python:3.12-slim", f"{DEFAULT_HOST}:443", "library/python", "python:3.12-slim"),
        ("pytorch/pytorch:2.4", f"{DEFAULT_HOST}:443", "pytorch/pytorch", "pytorch/pytorch:2.4"),
        ("docker.io/python:1", f"{DEFAULT_HOST}:443", "library/python", "docker.io/python:1"),
        ("docker.io/team/a:1", f"{DEFAULT_HOST}:443", "team/a", "docker.io/team/a:1"),
        ("registry.example/team/model:1", "registry.example:443", "team/model", "registry.example/team/model:1"),
        ("Registry.example:8443/model", "registry.example:8443", "model", "Registry.example:8443/model:latest"),
        ("localhost/x", "localhost:443", "x", "localhost/x:latest"),
        ("localhost:5000/team/model:1.2", "localhost:5000", "team/model", "localhost:5000/team/model:1.2"),
        ("192.168.1.1:80/a/b-c/d__e.f", "192.168.1.1:80", "a/b-c/d__e.f", "192.168.1.1:80/a/b-c/d__e.f:latest"),
        (f"python@{PINNED}", f"{DEFAULT_HOST}:443", "library/python", f"python@{PINNED}"),
        (f"python:3@{PINNED}", f"{DEFAULT_HOST}:443", "library/python", f"python@{PINNED}"),
    ],
)
def test_names_are_read_as_docker_reads_them(name, registry, path, reference):
    read = read_name(name, None)
    assert (read.registry, read.path, read.reference) == (registry, path, reference)


def test_digest_of_an_earlier_attempt_goes_before_the_tag():
    read = read_name("python:3.12", PINNED)
    assert (read.wanted, read.reference, read.tagged) == (PINNED, f"python@{PINNED}", "python:3.12")


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "a b", "Python", "a//b", "/a", "a/", "python:3 12", "python:" + "1" * 129, "a/../b", "./a",
        "registry.example/", "registry.example:0/a", "registry.example:99999/a", "registry.example:/a", "-a", "a-", "ä",
        "registry.example/a?b", "registry.example/a#b", "registry.example/a%2fb", "user@registry.example/a", "a" * 300,
        "[::1]:5000/a", "https://registry.example/a", "python@sha256:12", f"python@{PINNED[:-1]}G", "a\nb", "a\x00b",
    ],
)  # fmt: skip
def test_what_is_no_name_is_the_renters_to_mend(name):
    with pytest.raises(ImageMissing):
        read_name(name, None)


def test_name_that_is_pinned_twice_is_refused():
    with pytest.raises(ImageMissing, match="give one of them"):
        read_name(f"python@{PINNED}", "sha256:" + "b" * 64)
