"""What the agent left in container engines: the images that jobs brought, and the empty one of those that brought none.

Images that the owner had before are never among them: see `EngineImages`.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from computepool.agent.clock import SystemClock
from computepool.agent.sandbox.containers import Engine, EngineError, EngineImages, find_engines
from computepool.agent.sandbox.containers.empty_image import remove_empty_images
from computepool.agent.sandbox.containers.images import StoredImage, load_images

Tell = Callable[[str], None]


def remove_pulled_images(root: Path, tell: Tell, *, sockets: Iterable[Path] | None = None) -> None:
    """Those of the agent whose folder this is, from every engine that it used. Blocking.

    `sockets` instead of the usual places, for the empty image.
    """
    states = sorted(root.glob("images-*.json"))
    asyncio.run(_remove_all(states, tell, None if sockets is None else list(sockets)))


async def _remove_all(states: list[Path], tell: Tell, sockets: list[Path] | None) -> None:
    places = set()
    for state in states:
        place = _socket_of(state)
        if place is not None:
            places.add(place.resolve())
            await _remove_known(state, Engine(place), tell)
    places |= {one.engine.path for one in await find_engines(sockets=sockets)}
    for place in sorted(places):
        try:
            await remove_empty_images(Engine(place))
        except EngineError:
            continue  # said already, if anything of worth is left there


async def _remove_known(state: Path, engine: Engine, tell: Tell) -> None:
    ours = list(load_images(state).values())
    if not ours:
        return
    try:
        images = EngineImages(engine, await engine.facts(), state=state, clock=SystemClock())
        here = {image.reference for image in await images.list()}
        left = [image for image in ours if image.reference in here and not await images.remove(image.reference)]
    except (EngineError, OSError, KeyError, TypeError, ValueError) as error:
        tell(f"{_names(ours)} stay where they are: {error}. To remove them: docker image rm, or podman image rm")
        return
    removed = [image for image in ours if image not in left and image.reference in here]
    if removed:
        tell(f"removed {_names(removed)}, which jobs had brought")
    if left:
        tell(f"{_names(left)} stay: a container uses them")


def _socket_of(state: Path) -> Path | None:
    try:
        return Path(str(json.loads(state.read_bytes())["socket"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _names(images: Iterable[StoredImage]) -> str:
    names = sorted({image.name for image in images})
    return f"the image{'s' if len(names) > 1 else ''} {', '.join(names)}"
