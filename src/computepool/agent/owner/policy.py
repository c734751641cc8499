"""What the owner of a machine allows strangers' work, per node and per GPU.

Read from `policy.toml` in the agent's folder (policy_file.py). Every name, default and explanation stands here once:
the default file and the guide's table are made from this model.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from computepool.agent.owner.hours import Hours
from computepool.agent.owner.ladder import Ladder, Reaction, Step
from computepool.agent.owner.values import (
    CapPercent,
    Flag,
    Keys,
    MaybeCelsius,
    MaybeRate,
    MaybeSeconds,
    MaybeSize,
    MaybeTexts,
    MaybeWatts,
    OpenHours,
    Percent,
    Places,
    Price,
    Seconds,
    Size,
    Steps,
    Texts,
)
from computepool.protocol.capacity import HouseRules
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import GIB

MOST_GPU_SECTIONS = 256
JOULES_PER_KWH = 3_600_000

SUSPEND_THEN_EVICT = Ladder((Step(Reaction.SUSPEND, 600), Step(Reaction.EVICT)))
SAVE_THEN_EVICT = Ladder((Step(Reaction.CHECKPOINT, 300), Step(Reaction.EVICT)))
LEAVE_AT_ONCE = Ladder((Step(Reaction.SUSPEND, 10), Step(Reaction.EVICT)))
SUSPEND = Ladder((Step(Reaction.SUSPEND),))
GO_ON = Ladder((Step(Reaction.NONE),))


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Conditions(Section):
    """What must hold for strangers' work, on the whole machine or on one GPU."""

    after_idle: Seconds = Field(
        default=900,
        description="Strangers' jobs start when keyboard and mouse have been idle for this long. 0s: at any time.",
    )
    on_battery: Flag = Field(default=False, description="true: strangers' jobs may run on battery power.")
    during_full_screen: Flag = Field(
        default=False,
        description="true: strangers' jobs may run while a program is full-screen: a film, a game, a talk.",
    )
    foreign_gpu_memory: MaybeSize = Field(
        default=2 * GIB,
        description="A GPU counts as in use when other programs hold more memory on it than this."
        " A desktop and a browser hold a few hundred megabytes.",
    )
    foreign_gpu_utilisation: Percent = Field(
        default=30,
        description="A GPU counts as in use when it is busier than this (percent) without a job. 100: ignore.",
    )
    max_gpu_temperature: MaybeCelsius = Field(
        default=87,
        description="Above this temperature (Celsius) jobs on the GPU are suspended until it is 5 degrees cooler.",
    )
    hours: OpenHours = Field(
        default=Hours(),
        description='When strangers\' jobs may run, in local time: "mon-fri 22:00-07:00, sat-sun".',
    )


class Start(Conditions):
    """When strangers' work may start, and go on. Your own jobs are not held back by any of this."""

    max_cpu_temperature: MaybeCelsius = Field(
        default=95,
        description="Above this temperature (Celsius) all strangers' jobs are suspended until it is 5 degrees cooler.",
    )
    on_metered: Flag = Field(
        default=False, description="true: strangers' jobs may run on a metered network, such as a phone's."
    )
    typing_over_ssh: Flag = Field(
        default=True, description="true: input in a terminal, also over ssh, counts as keyboard input."
    )


class GpuRules(Conditions):
    """Settings for one GPU. A setting that is missing here has the machine's value."""

    share: Flag = Field(default=True, description="false keeps this GPU for yourself.")
    owner: Steps = Field(default=SUSPEND_THEN_EVICT, description="As `owner` in [reactions], for this GPU.")


class Network(Section):
    monthly_data: MaybeSize = Field(
        default=None,
        description="The most that strangers' jobs may transfer in a calendar month, including their images, bundles, "
        "checkpoints and results.",
    )
    rate: MaybeRate = Field(default=None, description="The most that strangers' jobs may transfer in one second.")
    indexes: Places = Field(
        default=(),
        description="Package indexes in your own network or on this machine that jobs may use,"
        ' such as ["pypi.example.com", "10.0.0.5:3141"]. Jobs may always use the public indexes for which pip, uv,'
        " npm, conda or apt are configured here.",
    )


class Reactions(Section):
    """What happens to strangers' jobs that are running. Each step lasts as long as it says, the last one stays. From
    mild to hard: none, cap_power, suspend, checkpoint (suspend and send a checkpoint), evict (end, and give back)."""

    owner: Steps = Field(
        default=SUSPEND_THEN_EVICT,
        description="You are back: keyboard, mouse, a full-screen program, or a program of yours on the GPU."
        " A step's time counts only while you use the machine; one touch of the mouse does not evict.",
    )
    pause: Steps = Field(
        default=LEAVE_AT_ONCE,
        description="You ran `computepool agent pause`. Applies to your own jobs too.",
    )
    heat: Steps = Field(default=SUSPEND, description="The machine or a GPU is too hot.")
    battery: Steps = Field(default=SUSPEND_THEN_EVICT, description="The machine runs on battery.")
    hours: Steps = Field(default=SAVE_THEN_EVICT, description="The hours in [start] are over.")
    metered: Steps = Field(default=SUSPEND_THEN_EVICT, description="The network is metered.")
    allowance: Steps = Field(
        default=GO_ON, description="The month's data is used up. Running jobs cannot transfer more in any case."
    )
    power_cap: CapPercent = Field(
        default=50,
        description="The GPU's power limit under cap_power, in percent of its usual limit. Jobs without a GPU are not"
        " affected.",
    )


class Welcome(Section):
    """Which jobs you accept, and from whom. Your own jobs are always accepted."""

    strangers: Flag = Field(default=True, description="false: accept only your own jobs and those of your team.")
    renters: Texts = Field(default=(), description="Accept only these renters' jobs. Empty: everybody's.")
    turned_away: Texts = Field(default=(), description="Never accept these renters' jobs.")
    internet: Flag = Field(
        default=True, description="Accept jobs that need the internet. They never reach your home network."
    )
    images: MaybeTexts = Field(
        default=None,
        description='Accept jobs with these images, as patterns such as ["pytorch/*"]. "any": all; []: none.',
    )
    gpu_only: Flag = Field(default=False, description="true: accept only jobs that use a GPU.")
    longest: MaybeSeconds = Field(default=None, description="Accept only jobs whose max_runtime is at most this.")
    isolation: IsolationLevel = Field(
        default=IsolationLevel.BUBBLEWRAP,
        description="The weakest isolation for strangers' jobs: bubblewrap, container or gvisor.",
    )

    @field_validator("isolation")
    @classmethod
    def _never_unisolated(cls, level: IsolationLevel) -> IsolationLevel:
        if level is IsolationLevel.PROCESS:
            raise ValueError("strangers' work never runs without isolation; write bubblewrap, container or gvisor")
        return level


class Own(Section):
    """Your own jobs: jobs that one of your keys has signed. The hub's word alone is not enough."""

    keys: Keys = Field(
        default=(),
        description="Public keys that sign your own jobs, besides the key of the CLI in the same home."
        " `computepool key` prints a CLI's key, and `computepool agent trust KEY` adds it here.",
    )
    process: Flag = Field(
        default=False,
        description="true: without a sandbox on the machine, your own jobs may run as plain processes with the agent's"
        " rights. The agent that `computepool up` starts allows this by default.",
    )


class StoragePolicy(Section):
    cache: Size = Field(
        default=20 * GIB, description="The total size of the caches of images, inputs and environments."
    )
    keep_free: Size = Field(default=5 * GIB, description="Disk space that always stays free.")


class Power(Section):
    price_per_kwh: Price = Field(
        default=0, description="What a kilowatt-hour costs you. The agent shows energy costs with it."
    )
    currency: str = Field(default="", max_length=8, description="The currency of price_per_kwh.")
    watts: MaybeWatts = Field(
        default=None, description='The power that the machine draws while it runs jobs. "measured": measure it.'
    )

    def cost(self, measured_joules: float | None, working_seconds: float) -> float | None:
        """What work has cost so far; None if neither the machine nor its owner knows the power."""
        joules = measured_joules if self.watts is None else self.watts * working_seconds
        return None if joules is None else joules / JOULES_PER_KWH * self.price_per_kwh


class Policy(Section):
    seat: Literal["auto", "yes", "no"] = Field(
        default="auto",
        description="Whether somebody uses this machine with a keyboard and a screen."
        ' "no" (a server): both are ignored. "auto": the agent finds out, and assumes "yes" if it cannot.',
    )
    remote_edits: Flag = Field(
        default=True,
        description="true: you can pause this machine and change its hours and idle settings through the hub. Other "
        "settings can be changed only here.",
    )
    start: Start = Start()
    reactions: Reactions = Reactions()
    welcome: Welcome = Welcome()
    own: Own = Own()
    network: Network = Network()
    storage: StoragePolicy = StoragePolicy()
    power: Power = Power()
    gpu: dict[str, GpuRules] = Field(default_factory=dict, max_length=MOST_GPU_SECTIONS)

    def house_rules(self) -> HouseRules:
        """As the hub is told them, so that it offers nothing that would be refused."""
        welcome = self.welcome
        return HouseRules(
            strangers=welcome.strangers,
            renters=welcome.renters,
            turned_away=welcome.turned_away,
            internet=welcome.internet,
            images=welcome.images,
            gpu_only=welcome.gpu_only,
            longest_seconds=welcome.longest,
            isolation=welcome.isolation,
        )

    def rules(self, gpu_id: str | None = None) -> "Rules":
        """What holds for one GPU, or for work without one."""
        override = self.gpu.get(gpu_id) if gpu_id is not None else None
        if override is None:
            return self._own_rules
        found = self._gpu_rules.get(str(gpu_id))
        if found is None:
            own = override.model_fields_set
            names = own & Conditions.model_fields.keys()
            conditions = self.start.model_copy(update={name: getattr(override, name) for name in names})
            owner = override.owner if "owner" in own else self.reactions.owner
            found = Rules(conditions, self.reactions.model_copy(update={"owner": owner}), override.share)
            self._gpu_rules[str(gpu_id)] = found
        return found

    @cached_property
    def _own_rules(self) -> "Rules":
        return Rules(self.start, self.reactions)

    @cached_property
    def _gpu_rules(self) -> "dict[str, Rules]":
        return {}


@dataclass(frozen=True)
class Rules:
    """A policy as it holds in one place."""

    start: Start
    reactions: Reactions
    share: bool = True
