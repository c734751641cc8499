"""dstack: a file with `type: task`."""

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
from computepool.protocol.units import short_repr

ERROR_RETRIES = 3
"""For `retry` on errors: dstack tries again for a time, this pool so many times."""
NVCC_IMAGE = "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel"
_REFERENCE = re.compile(r"\$\{\{\s*(\w+)")
_ELSEWHERE = "the pool's nodes are not in a cloud; `where` chooses among them"


def _python(job: Translation, name: str, value: object) -> None:
    if job.values.get("image") is not None:
        return
    version = str(value)
    if not re.fullmatch(r"3\.\d{1,2}", version):
        job.refuse(name, value, f"{short_repr(value)} is not a version of Python", 'write it like "3.12"')
        return
    job.put("image", f"python:{version}", name)
    job.note("other_systems_key", name, f"`python` is read as `image: python:{version}`, the official image.")


def _nvcc(job: Translation, name: str, value: object) -> None:
    if value is not True or job.values.get("image") is not None:
        return
    job.put("image", NVCC_IMAGE, name)
    job.note("other_systems_key", name, f"`nvcc` is read as `image: {NVCC_IMAGE}`, whose Python is 3.11.")


def _shell(job: Translation, name: str, value: object) -> None:
    if not isinstance(value, str) or not re.fullmatch(r"[\w/.+-]+", value):
        job.refuse(name, value, f"{short_repr(value)} is no shell", "write sh, bash or a path such as /usr/bin/zsh")
    elif value.rpartition("/")[2] != "bash":
        job.values["shell"] = value


def _docker(job: Translation, name: str, value: object) -> None:
    if value is True:
        hint = "name the image that your command starts as `image`, and write its command as `commands`"
        job.refuse(name, value, "jobs cannot start containers of their own here", hint)


def _entrypoint(job: Translation, name: str, value: object) -> None:
    try:
        job.values["entrypoint"] = shlex.split(str(value))
    except ValueError:
        job.refuse(name, value, f"{short_repr(value)} is no command line", "close its quotes")


def _spot(job: Translation, name: str, value: object) -> None:
    if value == "spot":
        job.put("preemptible", True, name)
        job.note("other_systems_key", name, "`spot_policy: spot` is read as `preemptible: true`.")


def _retry(job: Translation, name: str, value: object) -> None:
    events = value.get("on_events") if isinstance(value, Mapping) else None
    if value is True or (isinstance(events, list) and "error" in events):
        job.put("retries", ERROR_RETRIES, name)
        words = f"`retry` on errors is read as `retries: {ERROR_RETRIES}`; its duration is ignored."
    else:
        words = (
            "A job waits for a node as long as it takes, and is moved from nodes that are lost: `retry` adds nothing."
        )
    job.note("other_systems_key", name, words)


def _max_duration(job: Translation, name: str, value: object) -> None:
    if value in ("off", False, -1):
        job.note(
            "dropped_key", name, "`max_duration: off` is ignored: every job has a `max_runtime`, here the default."
        )
    else:
        job.put("max_runtime", value, name)


def _resources(job: Translation, name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        job.put("resources", value, name)
        return
    job.walk(KEYS, value, name)


def _cpu(job: Translation, name: str, value: object) -> None:
    if isinstance(value, Mapping):
        value = value.get("count")
    arch, colon, count = value.partition(":") if isinstance(value, str) else ("", "", value)
    if colon and arch.strip().lower() not in ("x86", "amd64"):
        job.refuse(name, value, "nodes are not chosen by the architecture of their processor", "leave it out")
        return
    job.put("resources.cpus", count if colon else value, name)


def _gpu(job: Translation, name: str, value: object) -> None:
    if isinstance(value, Mapping):
        for key in ("total_memory", "compute_capability"):
            if value.get(key) is not None:
                job.note("dropped_key", f"{name}.{key}", f"`{key}` of `{name}` is ignored: name GPUs or their memory.")
        kept = {key: value[key] for key in ("name", "memory", "count") if value.get(key) is not None}
        if value.get("vendor") is not None and "name" not in kept:
            kept["name"] = value["vendor"]
        names = kept.get("name")
        if isinstance(names, str) and "," in names:
            kept["name"] = [each.strip() for each in names.split(",")]
        job.put("resources.gpu", kept or None, name)
    else:
        job.gpus(name, value)


def _shm(job: Translation, name: str, value: object) -> None:
    del value
    words = f"`{name}` is ignored: /dev/shm has half of `resources.memory`, so ask for twice as much memory."
    job.note("dropped_key", name, words)


def _working_dir(job: Translation, name: str, value: object) -> None:
    if isinstance(value, str) and value.startswith(("/", "~")):
        job.link(name, value, ".")
    elif isinstance(value, str):
        job.prelude.append(f"mkdir -p {shlex.quote(value)} && cd {shlex.quote(value)}")
    else:
        job.refuse(name, value, f"{short_repr(value)} is no path", "write it like /workspace")


def _files(job: Translation, name: str, value: object) -> None:
    items = value if isinstance(value, list) else [value]
    for index, item in enumerate(items):
        here = f"{name}[{index}]"
        if isinstance(item, Mapping):
            source, target = item.get("local_path"), item.get("path")
        elif isinstance(item, str):
            source, colon, target = item.partition(":")
            target = target if colon else None
        else:
            source = target = None
        if not isinstance(source, str) or not source:
            job.refuse(here, item, f"{short_repr(item)} is no file", "write local_path or local_path:path")
            continue
        if not isinstance(target, str) or not target:
            # The same path there; what lies above or in the home folder of the caller is found by its name.
            target = source if not source.startswith("../") else source.rstrip("/").rpartition("/")[2]
        if target.startswith("/root/"):
            # The home of their root. Jobs here are another user, whose home is elsewhere.
            job.note("other_systems_key", here, f"`{target}` is put into the job's home folder: jobs are not root.")
            target = f"~/{target.removeprefix('/root/')}"
        job.local.append(LocalPart(source, job.place_of(here, target), here))


def _repos(job: Translation, name: str, value: object) -> None:
    items = value if isinstance(value, list) else [value]
    if len(items) > 1:
        job.refuse(name, value, "a job takes one repository", "clone the others in `commands`")
        return
    for item in items:
        url, branch, source, target = _repo_of(item)
        if target and target not in (".", job.values.get("working_dir")):
            job.link(name, target, ".") if target.startswith(("/", "~")) else None
        if url is not None and url.startswith("https://"):
            job.prelude.append(clone_line(shlex.quote(url), shlex.quote(branch or "HEAD")))
            job.note(
                "other_systems_key", name, f"{url} is cloned into the working folder, by the node's or image's git."
            )
        elif url is not None:
            job.refuse(name, item, "jobs have no SSH key to clone with", "write its https:// address")
        elif source is not None:
            job.local.append(LocalPart(source, ".", name))
        else:
            job.refuse(name, item, f"{short_repr(item)} is no repository", "write a folder or an https:// address")


def _repo_of(item: object) -> tuple[str | None, str | None, str | None, str | None]:
    """Its address, branch or commit, local folder, and place in the job."""
    if isinstance(item, Mapping):
        known = {key: str(item[key]) for key in ("url", "branch", "hash", "local_path", "path") if item.get(key)}
        return known.get("url"), known.get("hash", known.get("branch")), known.get("local_path"), known.get("path")
    if not isinstance(item, str):
        return None, None, None, None
    match = re.fullmatch(r"((?:https?|ssh)://[^:]+(?::\d+)?[^:]*|git@[^:]+:[^:]+|[^:]+)(?::(.+))?", item)
    if match is None:
        return None, None, None, None
    if "://" in match[1] or match[1].startswith("git@"):
        return match[1], None, None, match[2]
    return None, None, match[1], match[2]


def _volumes(job: Translation, name: str, value: object) -> None:
    for index, item in enumerate(value if isinstance(value, list) else [value]):
        here = f"{name}[{index}]"
        if isinstance(item, str):
            source, _, target = item.partition(":")
            optional = "cache" in source or ".cache" in target
        elif isinstance(item, Mapping):
            target, optional = str(item.get("path", "")), item.get("optional") is True
        else:
            target, optional = "", False
        if optional:
            job.note("dropped_key", here, f"The volume `{target}` is ignored: it is only a cache.")
        elif not job.keep_results(here, target.rstrip("/"), "The volume"):
            hint = "write its files as `inputs`, or download them in `commands`; for results write `outputs`"
            job.refuse(here, item, "volumes do not exist here, and the job would miss their data", hint)


def _commands(job: Translation, name: str, value: object) -> None:
    lines = value if isinstance(value, list) else [value]
    texts = [str(line) if isinstance(line, int | float) and not isinstance(line, bool) else line for line in lines]
    wrong = next((index for index, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        job.refuse(f"{name}[{wrong}]", lines[wrong], f"{short_repr(lines[wrong])} is not text", "put it in quotes")
        job.values["run"] = "?"
    elif texts:
        job.put("run", [text for text in texts if isinstance(text, str) and text.strip()], name)


def _env(job: Translation, name: str, value: object) -> None:
    if isinstance(value, Mapping):
        pairs: list[tuple[str, object]] = list(value.items())
    else:
        items = value if isinstance(value, list) else [value]
        pairs = [(str(item).partition("=")[0], item) for item in items]
    for key, given in pairs:
        match = _REFERENCE.search(given) if isinstance(given, str) else None
        if match is not None and match[1] == "secrets":
            _refuse_secret(job, f"{name}.{key}", str(key))
            return
    job.put("env", value, name)


def _refuse_secret(job: Translation, name: str, key: str) -> None:
    hint = f"write {key} alone, which takes your own value, and add where: {{trust: mine}}"
    job.refuse(name, None, "stored secrets are not supported yet by this pool", hint)


def _registry_auth(job: Translation, name: str, value: object) -> None:
    del value
    hint = "use a public image, or a registry of your own that asks for no password; stored secrets come later"
    job.refuse(name, None, "images that need a password are not supported yet", hint)


KEYS: Mapping[str, ForeignKey] = {
    row.name: row
    for row in (
        read("type", "`task` only. Services, dev environments and fleets are refused", lambda *_: None),
        read("name", "`name`", "name"),
        read("image", "`image`; its entry point is not used", "image"),
        read("nodes", "1. More are refused: a job runs on one machine", "nodes"),
        read("commands", "`run`, joined by `&&` as dstack does: the first command that fails ends the job", _commands),
        read("entrypoint", "The beginning of the command, without a shell", _entrypoint),
        read("shell", "The shell of `commands`; default: bash where there is one", _shell),
        read("env", "`env`", _env),
        read("python", "`image: python:VERSION`, unless `image` or `nvcc` is given: a node does not report its Python",
             _python),
        read("nvcc", f"`image: {NVCC_IMAGE}`", _nvcc),
        read("working_dir", "The working folder, found under that path too", _working_dir),
        read("files", "Local files and folders, sent with `computepool run`; relative to the file", _files),
        read("repos", "One repository: a local folder is sent, an https:// address is cloned", _repos),
        read("resources", "`resources`", _resources),
        read("resources.cpu", "`resources.cpus`; of a range, the lower end", _cpu),
        read("resources.memory", "`resources.memory`; of a range, the lower end", "resources.memory"),
        read("resources.disk", "`resources.disk`; of a range, the lower end", "resources.disk"),
        read("resources.gpu", "`resources.gpu`, also several to choose from; of a range of counts the lower end", _gpu),
        read("resources.shm_size", "Nothing: /dev/shm has half of the memory. The plan says so", _shm),
        read("max_duration", "`max_runtime`; `off` is the default", _max_duration),
        read("max_price", "`max_price`, in credits", "max_price"),
        read("priority", "`priority`", "priority"),
        read("spot_policy", "`spot` is `preemptible: true`", _spot),
        read("retry", f"On errors `retries: {ERROR_RETRIES}`; waiting and lost nodes need nothing", _retry),
        read("volumes", "Folders for results become `outputs` or `checkpoint`, caches are ignored, others refused",
             _volumes),
        read("docker", "Refused if true: jobs cannot start containers", _docker),
        read("registry_auth", "Refused: images that need a password are not supported yet", _registry_auth),
        dropped("ports", "jobs accept no connections yet"),
        dropped("user", "every job runs as the user `job`, never as root"),
        dropped("home_dir", "the job's home is its own folder"),
        dropped("single_branch", "the repository is sent or cloned as it is"),
        dropped("backends", _ELSEWHERE),
        dropped("regions", _ELSEWHERE),
        dropped("availability_zones", _ELSEWHERE),
        dropped("instance_types", _ELSEWHERE),
        dropped("instances", _ELSEWHERE),
        dropped("reservation", _ELSEWHERE),
        dropped("fleets", _ELSEWHERE),
        dropped("backend_options", _ELSEWHERE),
        dropped("creation_policy", "nodes are not made for a job"),
        dropped("idle_duration", "nodes are not made for a job"),
        dropped("tags", "jobs have no labels"),
        dropped("utilization_policy", "a job that uses its GPU little is not ended"),
        dropped("stop_duration", "a job has the pool's own grace to end"),
        dropped("startup_order", "a job runs on one machine"),
        dropped("stop_criteria", "a job runs on one machine"),
        dropped("schedule", "the job is submitted once, now"),
        dropped("setup", "it has no effect on dstack's tasks either"),
        refused("privileged", "no job has the rights of its node: leave it out if the commands work without"),
        refused("groups", "a job runs on one machine: write the commands of one group as `commands`"),
        refused("dstack", "a job cannot control a dstack server: leave it out"),
    )
}  # fmt: skip


def translate(data: Mapping[str, Any], problems: Problems) -> Translation:
    job = Translation(System.DSTACK, problems)
    if isinstance(folder := data.get("working_dir"), str) and folder.startswith(("/", "~")):
        job.inside = (folder.rstrip("/"),)
    # These two decide over the image, which `python` only stands in for.
    first = {key: data[key] for key in ("image", "nvcc") if key in data}
    job.walk(KEYS, first | {key: value for key, value in data.items() if key not in first})
    nodes = job.values.pop("nodes", 1)
    if isinstance(nodes, bool) or nodes != 1:
        job.refuse("nodes", nodes, "a job here runs on one machine", "for parallel parts write them as `slices`")
    _finish(job)
    return job


def _finish(job: Translation) -> None:
    commands, entrypoint, shell = (job.values.pop(key, None) for key in ("run", "entrypoint", "shell"))
    if isinstance(commands, str):
        job.values["run"] = commands  # our own key
        commands = None
    commands = commands if isinstance(commands, list) else []
    if isinstance(entrypoint, list):
        job.values["run"] = [*entrypoint, *commands]
    elif commands:
        text = "\n".join(commands)
        own_image = "image" in job.values and job.origins.get("image") != "python"
        lines = [*job.prelude, *install_lines(text, own_image=own_image)]
        run = "\n".join([*lines, " &&\n".join(_as_one(command) for command in commands)])
        # What is joined by && needs no shell that stops by itself, and in a pipeline only the last part counts.
        job.values["run"] = [shell, "-c", run] if shell else run
        job.values["keep_going"] = not shell
    _system_variables(job)


def _as_one(command: str) -> str:
    """A command that the next one can be joined to by `&&`."""
    command = command.strip()
    if "\n" in command or "#" in command or command.endswith(("&", "\\")):
        return f"{{\n{command.rstrip(chr(92))}\n}}"
    return command


def _system_variables(job: Translation) -> None:
    name, gpus = job.values.get("name"), gpu_count(job)
    variables = {
        "DSTACK_RUN_NAME": name if isinstance(name, str) else "task",
        "DSTACK_GPUS_NUM": gpus,
        "DSTACK_GPUS_PER_NODE": gpus,
        "DSTACK_NODES_NUM": "1",
        "DSTACK_NODE_RANK": "0",
        "DSTACK_NODES_IPS": "127.0.0.1",
        "DSTACK_MASTER_NODE_IP": "127.0.0.1",
    }
    job.give_variables("DSTACK_", variables)
