"""Simulated nodes: many light agents in one process, for demos and load tests.

Owns machines that do not exist, and what they pretend. Uses the real agent, the real protocol and real lines. Never
runs a command, and never hides what it is: names, tags, platforms, logs and outputs all say that they are simulated.
"""

from computepool.agent.simulated.crowd import Counts, Crowd
from computepool.agent.simulated.machines import DEFAULT_PROFILE, PROFILES, SimulatedMachine, make_machines
from computepool.agent.simulated.roster import Member, Roster

__all__ = ["DEFAULT_PROFILE", "PROFILES", "Counts", "Crowd", "Member", "Roster", "SimulatedMachine", "make_machines"]
