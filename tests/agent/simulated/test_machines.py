"""Machines that do not exist: the same for the same seed, plausible, and never without a label."""

import pytest

from computepool.agent.simulated import DEFAULT_PROFILE, PROFILES, make_machines
from computepool.agent.simulated.machines import CARDS
from computepool.cli.simulate import PROFILES as CHOICES
from computepool.protocol.enrol import EnrolRequest
from computepool.protocol.gpus import normalise_gpu_name, parse_gpu

EVERY = [machine for profile in PROFILES for machine in make_machines(profile, 7, 120)]


def test_same_seed_makes_the_same_machines_and_another_makes_others():
    assert make_machines("mixed", 3, 40) == make_machines("mixed", 3, 40)
    assert make_machines("mixed", 3, 40) != make_machines("mixed", 4, 40)


def test_more_machines_begin_with_the_same_ones():
    assert make_machines("mixed", 3, 40)[:10] == make_machines("mixed", 3, 10)


def test_every_machine_says_that_it_is_simulated():
    for machine in EVERY:
        assert machine.capacity.simulated
        assert machine.name.startswith("sim-")
        assert "simulated" in machine.tags
        assert machine.capacity.platform.startswith("simulated")
        assert machine.capacity.cpu_model.endswith("(simulated)")
        assert all(gpu.id.startswith("SIM-") and gpu.driver == "simulated" for gpu in machine.capacity.gpus)
        assert all("simulated" in software.version for software in machine.capacity.software)


def test_names_are_unique_and_tell_card_and_number():
    machines = make_machines("mixed", 1, 300)
    assert len({machine.name for machine in machines}) == 300
    seventeenth = machines[16]
    card = seventeenth.capacity.gpus[0].slug if seventeenth.capacity.gpus else "cpu"
    assert seventeenth.name == f"sim-{card}-017"


def test_cards_are_named_as_drivers_do_and_found_by_requests():
    for slug, card in CARDS.items():
        assert normalise_gpu_name(card.name) == slug
    request = parse_gpu("rtx-4090:24GB")
    found = [gpu for machine in EVERY for gpu in machine.capacity.gpus if gpu.slug == "rtx-4090"]
    assert found
    assert request is not None
    assert all(request.accepts(gpu.slug, gpu.memory_bytes) for gpu in found)


def test_hub_would_enrol_every_one_of_them():
    keys = {"sign_key": "", "seal_key": "", "signature": "", "token": "", "agent_version": "0"}
    for machine in EVERY:
        EnrolRequest(name=machine.name, country=machine.country, tags=machine.tags, capacity=machine.capacity, **keys)


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_differ_in_what_their_owners_do(profile):
    habits = {machine.habits for machine in make_machines(profile, 1, 100)}
    steady = [one for one in habits if one.pauses is one.cuts is one.leaves is None]
    assert bool(steady) == (profile in {"mixed", "lab", "servers"})


def test_command_line_offers_the_profiles_that_there_are():
    assert set(CHOICES) == set(PROFILES)
    assert DEFAULT_PROFILE in CHOICES
