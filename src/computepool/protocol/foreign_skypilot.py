"""SkyPilot: a file that has one of its keys, such as `envs`, `file_mounts` or `resources.accelerators`."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from computepool.protocol.foreign_keys import (
    ForeignKey,
    LocalPart,
    System,
    Translation,
    clone_line,
    dropped,
    gpu_count,
    install_lines,
    read,
    refused,
)
from computepool.protocol.spec_errors import Problems
from computepool.protocol.spec_fields import ARTIFACT_ID
from computepool.protocol.units import short_repr

WORKDIR = "~/sky_workdir"
_CLOUD = "the pool's nodes are not in a cloud; `where` chooses among them"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_BUCKET = re.compile(r"(?!https?:)[a-z0-9]+://", re.IGNORECASE)
_GPU_MACHINE = re.compile(r"[pg]\d.*|a[23]-.*|standard_n.*|.*gpu.*|trn.*|inf.*", re.IGNORECASE)
_PLACEMENT_KEYS = ("infra", "cloud", "region", "zone", "instance_type", "image_id", "disk_tier", "network_tier")


def _workdir(job: Translation, name: str, value: object) -> None:
    if isinstance(value, str):
        job.local.append(LocalPart(_filled(job, value), ".", name))
    elif isinstance(value, Mapping) and isinstance(value.get("url"), str):
        url, ref = value["url"], str(value.get("ref") or "HEAD")
        if not url.startswith("https://"):
            job.refuse(name, value, "jobs have no SSH key to clone with", "write its https:// address")
            return
        job.prelude.append(clone_line(shlex.quote(url), shlex.quote(ref)))
        job.note("other_systems_key", name, f"{url} is cloned into the working folder, by the node's or image's git.")
    else:
        job.refuse(name, value, f"{short_repr(value)} is neither a folder nor a repository", "write a folder's path")


def _resources(job: Translation, name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        job.put("resources", value, name)
        return
    choices = [key for key in ("any_of", "ordered") if isinstance(value.get(key), list)]
    own = {key: each for key, each in value.items() if key not in choices}
    for key in choices:
        entries = [entry for entry in value[key] if isinstance(entry, Mapping)]
        own = _with_choices(job, f"{name}.{key}", own, entries)
        if key == "ordered":
            job.note(
                "dropped_key", f"{name}.ordered", "The order of `resources.ordered` is ignored: any of them will do."
            )
    # Numbers of cores and GPUs before what depends on them.
    first = ("cpus", "accelerators")
    job.walk(KEYS, {key: own[key] for key in sorted(own, key=lambda key: key not in first)}, name)


def _with_choices(job: Translation, name: str, own: dict[str, Any], entries: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The entries differ in places, which mean nothing here, and in GPUs, which become alternatives."""
    merged = dict(own)
    gpus = [entry["accelerators"] for entry in entries if entry.get("accelerators") is not None]
    if gpus:
        merged["accelerators"] = list(dict.fromkeys(_one_each(gpus)))
    places = sorted({key for entry in entries for key in entry if key in _PLACEMENT_KEYS and key != "image_id"})
    if places:
        words = f"In `{name}`, {', '.join(f'`{key}`' for key in places)} of SkyPilot is ignored: {_CLOUD}."
        job.note("dropped_key", name, words)
    spot = [entry["use_spot"] for entry in entries if entry.get("use_spot") is not None]
    if spot:
        merged["use_spot"] = all(each is True for each in spot)
    rest = {"accelerators", "use_spot", *_PLACEMENT_KEYS}
    for key in dict.fromkeys(key for entry in entries for key in entry if key not in rest):
        given = [entry[key] for entry in entries if entry.get(key) is not None]
        merged.setdefault(key, given[0] if given else None)
        if any(other != merged[key] for other in given):
            job.note("dropped_key", f"{name}.{key}", f"Of `{key}` in `{name}` the first value counts: {merged[key]}.")
    images = [entry["image_id"] for entry in entries if entry.get("image_id") is not None]
    if images:
        merged.setdefault("image_id", images[0])
    return merged


def _one_each(gpus: list[object]) -> list[str]:
    found: list[str] = []
    for asked in gpus:
        if isinstance(asked, Mapping):
            found += [f"{key}:{count}" if count is not None else str(key) for key, count in asked.items()]
        else:
            found += [str(each) for each in (asked if isinstance(asked, list) else [asked])]
    return found


def _memory(job: Translation, name: str, value: object) -> None:
    """`4x` is four gigabytes for each core."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)x", value.strip()) if isinstance(value, str) else None
    cores = job.values.get("resources")
    asked = re.match(r"\d+(?:\.\d+)?", str(cores.get("cpus", 1))) if isinstance(cores, Mapping) else None
    if match is not None:
        value = f"{float(match[1]) * float(asked[0] if asked else 1):g}GB"
    job.put("resources.memory", value, name)


def _instance_type(job: Translation, name: str, value: object) -> None:
    resources = job.values.get("resources")
    has_gpu = isinstance(resources, Mapping) and resources.get("gpu") is not None
    if not has_gpu and isinstance(value, str) and _GPU_MACHINE.fullmatch(value):
        hint = "write the GPUs that it has as `accelerators`, such as A100:1"
        job.refuse(name, value, f"{value} is a machine with GPUs, and machine types mean nothing here", hint)
    else:
        job.note("dropped_key", name, f"`{name}` of SkyPilot is ignored: write what it has as `cpus` and `memory`.")


def _image(job: Translation, name: str, value: object) -> None:
    text = _filled(job, value) if isinstance(value, str) else ""
    names = [str(each) for each in value.values()] if isinstance(value, Mapping) else [text]
    if text.startswith("docker:"):
        job.put("image", text.removeprefix("docker:"), name)
        job.note("other_systems_key", name, f"`{name}` is read as `image`.")
    elif all(each.startswith("skypilot:") for each in names):
        job.note("dropped_key", name, f"`{name}` of SkyPilot is ignored: it is a cloud's image with a plain system.")
    else:
        hint = "write a container image, such as docker:python:3.12-slim"
        job.refuse(name, value, f"{short_repr(value)} is not a container image", hint)


def _recovery(job: Translation, name: str, value: object) -> None:
    restarts = value.get("max_restarts_on_errors") if isinstance(value, Mapping) else None
    if isinstance(restarts, int) and restarts > 0:
        job.put("retries", restarts, name)
        job.note("other_systems_key", name, f"`max_restarts_on_errors` of `{name}` is read as `retries: {restarts}`.")
    else:
        job.note(
            "dropped_key", name, f"`{name}` of SkyPilot is ignored: a job is moved from nodes that are lost anyway."
        )


def _config(job: Translation, name: str, value: object) -> None:
    text = json.dumps(value, default=str)
    if '"volumeMounts"' in text or '"hostPath"' in text:
        hint = "send the data as `file_mounts` of local files, or download it in `setup`"
        job.refuse(name, None, "it mounts volumes, which do not exist here, and the job would miss their data", hint)
    elif '"enable_docker"' in text:
        hint = "name the image that the job starts as `image_id: docker:…`"
        job.refuse(name, None, "it asks for Docker inside of the job, and jobs cannot start containers here", hint)
    else:
        job.note("dropped_key", name, "`config` of SkyPilot is ignored: it is about its own clusters.")


def _secrets(job: Translation, name: str, value: object) -> None:
    if not value:
        return
    names = ", ".join(map(str, value)) if isinstance(value, Mapping | list) else str(value)
    hint = f"write {names} under `envs` and run it on your own nodes: `computepool run --mine`"
    job.refuse(name, None, "stored secrets are not supported yet by this pool", hint)


def _estimates(job: Translation, name: str, value: object) -> None:
    """SkyPilot's `inputs: {s3://…: 70}` are sizes for its choice of a cloud; ours name files."""
    is_estimate = isinstance(value, Mapping) and all(isinstance(each, int | float) for each in value.values())
    if is_estimate:
        job.note("dropped_key", name, f"`{name}` of SkyPilot is ignored: {_CLOUD}.")
    else:
        job.put(name, value, name)


def _file_mounts(job: Translation, name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        job.refuse(name, value, f"{short_repr(value)} is not a mapping", "write {target: local path}")
        return
    for key, source in value.items():
        target, here = _filled(job, str(key)).rstrip("/") or "/", f"{name}.{key}"
        if isinstance(source, Mapping) and not set(source) & {"url", "sha256", "digest"}:
            _store(job, here, target, source)
        elif isinstance(source, Mapping) or (isinstance(source, str) and ARTIFACT_ID.fullmatch(source)):
            _input(job, here, target, source)
        elif not isinstance(source, str):
            job.refuse(here, source, f"{short_repr(source)} is no file", "write a local path")
        else:
            _source(job, here, target, _filled(job, source))


def _source(job: Translation, here: str, target: str, source: str) -> None:
    if source.startswith("https://"):
        _input(job, here, target, source)
    elif _BUCKET.match(source):
        _refuse_bucket(job, here, source)
    else:
        job.local.append(LocalPart(source, job.place_of(here, target), here))


def _store(job: Translation, here: str, target: str, store: Mapping[str, Any]) -> None:
    """A bucket: one with a local source is its files; one that is mounted may be for results."""
    sources = store.get("source")
    given = [_filled(job, str(each)) for each in (sources if isinstance(sources, list) else [sources]) if each]
    copied = store.get("mode", "MOUNT") == "COPY"
    if given and not any(_BUCKET.match(each) or each.startswith(("$", "https:")) for each in given):
        for each in given:
            name = each.rstrip("/").rpartition("/")[2]
            place = job.place_of(here, target)
            job.local.append(LocalPart(each, place if len(given) == 1 else f"{place}/{name}", here))
    elif copied or not job.keep_results(here, target, "The bucket"):
        _refuse_bucket(job, here, given[0] if given else store.get("name"))


def _refuse_bucket(job: Translation, here: str, bucket: object) -> None:
    hint = "download it in `setup` or `run`, or copy it to your machine and name that folder here"
    message = f"buckets cannot be mounted here, and the job would miss the data of {short_repr(bucket)}"
    job.refuse(here, bucket, message, hint)


def _input(job: Translation, here: str, target: str, source: object) -> None:
    inputs = job.values.setdefault("inputs", {})
    if isinstance(inputs, dict):
        place = job.place_of(here, target)
        inputs[place] = source
        job.origins[f"inputs.{place}"] = here


def _volumes(job: Translation, name: str, value: object) -> None:
    for target, volume in value.items() if isinstance(value, Mapping) else []:
        here = f"{name}.{target}"
        if isinstance(volume, Mapping) and "name" not in volume:
            place = str(target).strip("/")
            job.link(here, str(target), place)
            job.note(
                "other_systems_key", here, f"The volume `{target}` is an empty folder, for as long as the job runs."
            )
        elif not job.keep_results(here, str(target).rstrip("/"), "The volume"):
            hint = "send its files as `file_mounts` of local files, or download them in `setup`"
            job.refuse(here, volume, "volumes do not exist here, and the job would miss their data", hint)


def _filled(job: Translation, text: str) -> str:
    """With the values of `envs`, as SkyPilot puts them into paths."""

    def value_of(match: re.Match[str]) -> str:
        given = job.environment.get(match[1] or match[2])
        return match[0] if given is None else str(given)

    return _VARIABLE.sub(value_of, text)


KEYS: Mapping[str, ForeignKey] = {
    row.name: row
    for row in (
        read("name", "`name`", "name"),
        read("workdir", "Sent with `computepool run`, relative to where you are; `{url, ref}` is cloned", _workdir),
        read("num_nodes", "1. More are refused: a job runs on one machine", "num_nodes"),
        read("setup", "`setup`, without `set -e`", "setup"),
        read("run", "`run`, without `set -e`", "run"),
        read("envs", "`env`; a name without a value takes the caller's", "env"),
        read("secrets", "Refused: stored secrets are not supported yet", _secrets),
        read("file_mounts", "Local files and folders are sent with `computepool run`. Buckets for results become "
             "`outputs` or `checkpoint`, others are refused", _file_mounts),
        read("volumes", "Folders for results become `outputs` or `checkpoint`, others are refused", _volumes),
        read("config", "Ignored, but refused if it mounts volumes or asks for Docker", _config),
        read("inputs", "Ignored, if these are estimates of sizes", _estimates),
        read("outputs", "Ignored, if these are estimates of sizes", _estimates),
        read("resources", "`resources`", _resources),
        read("resources.cpus", "`resources.cpus`; of a range, the lower end", "resources.cpus"),
        read("resources.memory", "`resources.memory`; of a range, the lower end", _memory),
        read("resources.disk_size", "`resources.disk`", "resources.disk"),
        read("resources.accelerators", "`resources.gpu`, also several to choose from. TPUs and fractions are refused",
             Translation.gpus),
        read("resources.any_of", "Its `accelerators` are alternatives; places are ignored", lambda *_: None),
        read("resources.ordered", "The same as `any_of`", lambda *_: None),
        read("resources.instance_type", "Ignored, but refused if only it says that there are GPUs", _instance_type),
        read("resources.image_id", "`docker:IMAGE` is `image`. Images of clouds are ignored or refused", _image),
        read("resources.use_spot", "`preemptible`", "preemptible"),
        read("resources.max_hourly_cost", "`max_price`, in credits", "max_price"),
        read("resources.job_recovery", "`max_restarts_on_errors` is `retries`; the rest is ignored", _recovery),
        dropped("resources.spot_recovery", "a job is moved from nodes that are lost anyway"),
        dropped("resources.infra", _CLOUD),
        dropped("resources.cloud", _CLOUD),
        dropped("resources.region", _CLOUD),
        dropped("resources.zone", _CLOUD),
        dropped("resources.ports", "jobs accept no connections yet"),
        dropped("resources.disk_tier", "nodes are not chosen by the kind of their disk"),
        dropped("resources.network_tier", "nodes are not chosen by the kind of their network"),
        dropped("resources.local_disk", "nodes are not chosen by the kind of their disk"),
        dropped("resources.autostop", "nodes are not made for a job"),
        dropped("resources.labels", "jobs have no labels"),
        dropped("resources.priority", "`priority` of the job decides"),
        dropped("resources.accelerator_args", "they are for TPUs"),
        dropped("labels", "jobs have no labels"),
        dropped("experimental", "it is about SkyPilot's own clusters"),
        dropped("event_callback", "webhooks do not exist yet; `notify: [email]` sends a mail at the end"),
        dropped("api_server_access", "there is no SkyPilot server"),
        refused("service", "services are not run here: leave `service` out to run its command as a job that ends"),
        refused("pool", "pools of workers are not made here: leave `pool` out, and write parallel parts as `slices`"),
    )
}  # fmt: skip

MARKS = ("envs", "file_mounts", "num_nodes", "service", "pool", "config", "experimental", "event_callback", "volumes")
"""No key of ours: whoever writes one means SkyPilot's."""
RESOURCE_MARKS = tuple(
    row.name.partition(".")[2]
    for row in KEYS.values()
    if row.name.startswith("resources.") and row.name not in (row.becomes, "resources.memory")
)


def translate(data: Mapping[str, Any], problems: Problems) -> Translation:
    job = Translation(System.SKYPILOT, problems, inside=(WORKDIR,))
    envs = data.get("envs")
    if isinstance(envs, Mapping):
        job.environment = {str(key): value for key, value in envs.items() if value is not None}
    job.walk(KEYS, data)
    nodes = job.values.pop("num_nodes", 1)
    if isinstance(nodes, bool) or nodes != 1:
        job.refuse("num_nodes", nodes, "a job here runs on one machine", "for parallel parts write them as `slices`")
    _finish(job)
    return job


def _finish(job: Translation) -> None:
    run, setup = job.values.get("run"), job.values.get("setup")
    texts = [text for text in (setup, run) if isinstance(text, str)]
    if isinstance(run, str):
        lines = [*(job.prelude if not setup else []), *_late_variables(run)]
        lines += install_lines(run, own_image="image" in job.values) if not setup else []
        job.values["run"] = "\n".join([*lines, run])
        job.values["keep_going"] = True
    if isinstance(setup, str) and job.prelude:
        job.values["setup"] = "\n".join([*job.prelude, setup])
    if any("sky_workdir" in text for text in texts):
        job.link("run", WORKDIR, ".")
    gpus = gpu_count(job)
    variables = {
        "SKYPILOT_NUM_NODES": "1",
        "SKYPILOT_NODE_RANK": "0",
        "SKYPILOT_NODE_IPS": "127.0.0.1",
        "SKYPILOT_NUM_GPUS_PER_NODE": gpus,
    }
    if isinstance(setup, str) and "SKYPILOT_SETUP_" in setup:
        variables |= {name.replace("SKYPILOT_", "SKYPILOT_SETUP_"): value for name, value in variables.items()}
    job.give_variables("SKYPILOT_", variables)


def _late_variables(run: str) -> list[str]:
    """What only the running job knows."""
    late = {
        "SKYPILOT_TASK_ID": "sky-$COMPUTEPOOL_JOB_ID",
        "SKYPILOT_JOB_RANK": "$COMPUTEPOOL_SLICE",
        "SKYPILOT_NUM_JOBS": "$COMPUTEPOOL_SLICES",
    }
    return [f'export {name}="{value}"' for name, value in late.items() if name in run]
