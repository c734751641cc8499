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
        description="Strangers' work starts when keyboard and mouse have been still for this long. 0s: at any time.",
    )
    on_battery: Flag = Field(default=False, description="Whether it may run while the machine lives on its battery.")
    during_full_screen: Flag = Field(
        default=False, description="Whether it may run while a program fills the screen: a film, a game, a talk."
    )
    foreign_gpu_memory: MaybeSize = Field(
        default=2 * GIB,
        description="A GPU on which other programs hold more memory than this is in use."
        " A desktop and a browser hold some hundred megabytes.",
    )
    foreign_gpu_utilisation: Percent = Field(
        default=30,
        description="A GPU that is busier than this (percent) without our work is in use. 100: never mind.",
    )
    max_gpu_temperature: MaybeCelsius = Field(
        default=87, description="Degrees Celsius above which a GPU's work is held, until it is 5 degrees cooler."
    )
    hours: OpenHours = Field(
        default=Hours(),
        description='When strangers\' work is welcome, in local time: "mon-fri 22:00-07:00, sat-sun".',
    )


class Start(Conditions):
    """When strangers' work may start, and go on. Your own jobs are not held back by any of this."""

    max_cpu_temperature: MaybeCelsius = Field(
        default=95, description="Degrees Celsius above which all work is held, until it is 5 degrees cooler."
    )
    on_metered: Flag = Field(default=False, description="Whether it may run on a metered network, such as a phone's.")
    typing_over_ssh: Flag = Field(
        default=True, description="Whether typing in a terminal, also over ssh, counts as using the keyboard."
    )


class GpuRules(Conditions):
    """What is different for one GPU. What is not written is as for the machine."""

    share: Flag = Field(default=True, description="false keeps this GPU for yourself.")
    owner: Steps = Field(default=SUSPEND_THEN_EVICT, description="As in [reactions].")


class Network(Section):
    monthly_data: MaybeSize = Field(
        default=None,
        description="The most that strangers' work may transfer in a calendar month, with what is moved for it: "
        "images, bundles, checkpoints and results.",
    )
    rate: MaybeRate = Field(default=None, description="The most that it may transfer in one second.")
    indexes: Places = Field(
        default=(),
        description="Package indexes that jobs may use although they are in your own network or on this machine,"
        ' such as ["pypi.example.com", "10.0.0.5:3141"]. Public ones that pip, uv, npm, conda or apt are set up for'
        " here need no mention.",
    )


class Reactions(Section):
    """What happens to strangers' work that is running. Steps in this order, each for a while, the last one stays:
    none, cap_power, suspend, checkpoint (suspended, and its checkpoint is sent), evict (ended, given back)."""

    owner: Steps = Field(
        default=SUSPEND_THEN_EVICT,
        description="You are back: keyboard, mouse, a full-screen program, or a program of yours on the GPU."
        " Time counts while you go on using it; one touch of the mouse does not evict.",
    )
    pause: Steps = Field(
        default=LEAVE_AT_ONCE,
        description="You said `computepool agent pause`. Also your own jobs; a moment to change your mind.",
    )
    heat: Steps = Field(default=SUSPEND, description="Too hot; goes on when it is cool.")
    battery: Steps = Field(default=SUSPEND_THEN_EVICT, description="The power cord was pulled.")
    hours: Steps = Field(default=SAVE_THEN_EVICT, description="The hours are over.")
    metered: Steps = Field(default=SUSPEND_THEN_EVICT, description="The network has become a metered one.")
    allowance: Steps = Field(
        default=GO_ON, description="The month's data is used up. What runs gets no more of it in any case."
    )
    power_cap: CapPercent = Field(
        default=50,
        description="What cap_power leaves: percent of a GPU's usual power limit. Work without a GPU goes on as it is.",
    )


class Welcome(Section):
    """Whose work, and which, you take. Your own is always welcome."""

    strangers: Flag = Field(default=True, description="false: only your own jobs, and those of your team.")
    renters: Texts = Field(default=(), description="Only these renters' jobs; empty for everybody's.")
    turned_away: Texts = Field(default=(), description="Never these renters' jobs.")
    internet: Flag = Field(
        default=True, description="Jobs that ask for the internet. They never see your home network."
    )
    images: MaybeTexts = Field(
        default=None, description='Patterns of container images, such as ["pytorch/*"]; "any", or [] for none.'
    )
    gpu_only: Flag = Field(default=False, description="Only jobs that use a GPU.")
    longest: MaybeSeconds = Field(default=None, description="Only jobs that may run no longer than this.")
    isolation: IsolationLevel = Field(
        default=IsolationLevel.BUBBLEWRAP,
        description="The least isolation for strangers' work: bubblewrap, container or gvisor.",
    )

    @field_validator("isolation")
    @classmethod
    def _never_unisolated(cls, level: IsolationLevel) -> IsolationLevel:
        if level is IsolationLevel.PROCESS:
            raise ValueError("strangers' work never runs without isolation; write bubblewrap, container or gvisor")
        return level


class Own(Section):
    """Your own jobs: those that one of your keys has signed. That the hub calls a job yours is not enough."""

    keys: Keys = Field(
        default=(),
        description="Public keys whose jobs are yours, beside the one of the CLI in the same home. `computepool key`"
        " prints a CLI's key, and `computepool agent trust KEY` adds it here.",
    )
    process: Flag = Field(
        default=False,
        description="Whether your own jobs may run without a sandbox where there is none: as plain processes that may"
        " do all that the agent may. The agent that `computepool up` starts allows it without asking.",
    )


class StoragePolicy(Section):
    cache: Size = Field(
        default=20 * GIB, description="The most that the caches of images, inputs and environments hold."
    )
    keep_free: Size = Field(default=5 * GIB, description="Space on the disk that is left free, whatever is wanted.")


class Power(Section):
    price_per_kwh: Price = Field(default=0, description="What a kilowatt-hour costs you, for the cost that is shown.")
    currency: str = Field(default="", max_length=8, description="Its currency, as it is to be shown.")
    watts: MaybeWatts = Field(
        default=None, description='What the machine draws while it works, if you know better than "measured".'
    )

    def cost(self, measured_joules: float | None, working_seconds: float) -> float | None:
        """What work has cost so far; None if neither the machine nor its owner knows the power."""
        joules = measured_joules if self.watts is None else self.watts * working_seconds
        return None if joules is None else joules / JOULES_PER_KWH * self.price_per_kwh


class Policy(Section):
    seat: Literal["auto", "yes", "no"] = Field(
        default="auto",
        description="Whether somebody sits at this machine. Without a seat (a server) keyboard, mouse and screen are"
        ' not looked at. "auto" finds out, and where it cannot, takes it that somebody does.',
    )
    remote_edits: Flag = Field(
        default=True,
        description="Whether you can pause this machine, and change its hours and when it counts as idle, through the "
        "hub. Everything else is changed here.",
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
