"""For renters: the proof of what ran."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import JOB
from computepool.cli.errors import CliError, tell
from computepool.cli.options import JOB_HELP, json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.pool import Pool
    from computepool.client.receipts import ReceiptItem
    from computepool.protocol.hub_keys import HubKey
    from computepool.protocol.verification import Check, Evidence

KNOWN_HUBS = "known_hubs"


@click.command(
    epilog="Example: computepool verify last --save proof.json && computepool verify proof.json -o outputs/x",
    help="Check that the hub ordered the job and the node signed its results, and that log and outputs are unchanged. "
    f"{JOB_HELP} FILE is a file that --save wrote: checking it does not need the hub.",
)
@click.argument("job", metavar="JOB|FILE", type=JOB)
@click.option(
    "-o", "--output-dir", "folder", type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Check the outputs in this folder, as `get` wrote them.",
)  # fmt: skip
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the receipts and keys to a file.")
@click.option(
    "--trust-new-keys", is_flag=True, help="Accept that the hub's keys changed since this machine last saw them."
)
@json_option
@pool_options
def verify(job: str, folder: Path | None, save: Path | None, trust_new_keys: bool, as_json: bool) -> None:
    from computepool.protocol.spec import parse_spec
    from computepool.protocol.verification import verify as check_receipts

    if Path(job).is_file():
        proof = Proof.load(Path(job))
    else:
        proof = _ask_for_proof(job, trust_new_keys)
    if save is not None:
        proof.save(save)
        tell(f"saved → {save}", dim=True)
    if not proof.items and not proof.succeeded:
        raise CliError(
            f"{proof.job_id} has no receipt.", "A node signs one for each attempt that ends there: computepool show JOB"
        )
    evidence = _evidence(proof, folder)
    checks = check_receipts(
        proof.items,
        hub_keys=proof.hub_keys,
        job_id=proof.job_id,
        spec=parse_spec(proof.spec) if proof.spec is not None else None,
        succeeded=proof.succeeded,
        evidence=evidence,
    )
    passed = all(check.passed for check in checks)
    if as_json:
        rows = [
            {"slice": c.slice, "attempt": c.attempt, "check": c.name, "passed": c.passed, "detail": c.detail}
            for c in checks
        ]
        print_json({"job_id": proof.job_id, "verified": passed, "checks": rows})
    else:
        _print_checks(checks)
        if passed:
            _tell_holds(proof, folder)
    if not passed:
        raise CliError(
            "Verification failed: a check is WRONG.", "Do not rely on its results, and tell the operator of the hub."
        )


def _print_checks(checks: "list[Check]") -> None:
    from rich.text import Text

    from computepool.cli.display import print_table

    rows = [
        (
            f"{check.slice}.{check.attempt}" if check.attempt else str(check.slice),
            check.name,
            Text("ok" if check.passed else "WRONG", style="green" if check.passed else "bold red"),
            check.detail,
        )
        for check in checks
    ]
    print_table(("slice.attempt", "check", "result", "detail"), rows)


def _tell_holds(proof: "Proof", folder: Path | None) -> None:
    """What was found, and what was not looked at: nobody is to take the one for the other."""
    import json

    from computepool.cli.display import count

    tell(f"✓ verified: {count(len(proof.items), 'receipt')}", fg="green")
    if folder is None and any(json.loads(item.receipt.body).get("outputs") for item in proof.items):
        tell("  Outputs were not checked. To check files that `get` downloaded: -o DIR", dim=True)
    if not proof.logs:
        tell("  Logs were not checked: the file does not contain them. To check them: computepool verify JOB", dim=True)


@dataclass(frozen=True)
class Proof:
    """What `verify` needs, and all that it needs: it can be kept and checked without any hub."""

    job_id: str
    items: "list[ReceiptItem]"
    hub_keys: "list[HubKey]"
    spec: dict[str, Any] | None = None
    """As it was submitted."""
    succeeded: tuple[int, ...] = ()
    """Slices that the hub says have succeeded: each must have a receipt that says so."""
    logs: Mapping[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    """Digest and length of each log, by (slice, attempt), as it was read from the hub."""

    @classmethod
    def load(cls, path: Path) -> "Proof":
        import json

        from computepool.client.receipts import read_receipt
        from computepool.protocol.hub_keys import HubKey

        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                str(data["job_id"]),
                [read_receipt(item) for item in data["items"]],
                [HubKey.model_validate(item) for item in data["hub_keys"]],
                dict(data["spec"]),
                tuple(int(index) for index in data["succeeded"]),
            )
        except (ValueError, KeyError, TypeError):
            raise CliError(f"{path} is not what `verify --save` wrote.", "Save it again: verify JOB --save") from None

    def save(self, path: Path) -> None:
        import json

        document = {
            "job_id": self.job_id,
            "spec": self.spec,
            "succeeded": list(self.succeeded),
            "hub_keys": [key.model_dump(mode="json") for key in self.hub_keys],
            "items": [item.model_dump(mode="json") for item in self.items],
        }
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _ask_for_proof(job: str, trust_new_keys: bool) -> Proof:
    import hashlib

    with open_pool() as pool:
        job_id = pool.find_job(job)
        items = pool.receipts(job_id)
        keys = _known_keys(pool, trust_new_keys)
        logs = {}
        for item in items:
            hasher, length = hashlib.sha256(), 0
            for chunk in pool.logs(job_id, slice=item.slice, attempt=item.attempt):
                hasher.update(chunk.data)
                length += len(chunk.data)
            logs[(item.slice, item.attempt)] = (f"sha256:{hasher.hexdigest()}", length)
        succeeded = tuple(part.index for part in pool.slices(job_id) if part.state == "succeeded")
        spec = pool.job(job_id).spec
    return Proof(job_id, items, keys, spec, succeeded, logs)


def _known_keys(pool: "Pool", trust_new_keys: bool) -> "list[HubKey]":
    """The hub's keys as this machine first saw them: a hub cannot swap them afterwards without being noticed."""
    from computepool.cli.display import count
    from computepool.client.config import load_preferences, save_preference
    from computepool.protocol.hub_keys import HubKey, follow_keys

    told = pool.hub_keys()
    known_hubs = load_preferences(pool.target.home).get(KNOWN_HUBS)
    hubs: dict[str, Any] = known_hubs if isinstance(known_hubs, dict) else {}
    known = [HubKey.model_validate(key) for key in hubs.get(pool.target.url, [])]
    if known and not trust_new_keys:
        # Those that a known key announced are no surprise; and a known one may have ended.
        followed = follow_keys(known, told)
        strange = [key for key in told if key.public_key not in {other.public_key for other in followed}]
        if strange:
            keys = count(len(strange), "signing key")
            tell(
                f"note: the hub has {keys} that this machine has not seen before; orders signed with it are not"
                " trusted. If the operator announced a new key: --trust-new-keys",
                fg="yellow",
            )
        told = followed
    if told != known:
        hubs = {**hubs, pool.target.url: [key.model_dump(mode="json", exclude_none=True) for key in told]}
        save_preference(pool.target.home, KNOWN_HUBS, hubs)
    return told


def _evidence(proof: Proof, folder: Path | None) -> "dict[tuple[int, int], Evidence]":
    from computepool.protocol.verification import INSTEAD, Evidence

    newest: dict[int, int] = {}
    for item in proof.items:
        newest[item.slice] = max(item.attempt, newest.get(item.slice, 0))
    found = {}
    for item in proof.items:
        place = (item.slice, item.attempt)
        files = None
        if folder is not None and item.attempt == newest[item.slice]:
            files = _files_in(folder / str(item.slice) if len(newest) > 1 else folder)
        if item.instead is not None:
            found[(item.slice, INSTEAD)], files = Evidence(files), None
        found[place] = Evidence(files, *proof.logs.get(place, (None, None)))
    return found


def _files_in(folder: Path) -> dict[str, str]:
    from computepool.client.listing import RESULTS_MARK
    from computepool.client.uploads import digest_of

    return {
        path.relative_to(folder).as_posix(): digest_of(path)[0]
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and not path.name.endswith(".part")
        if path != folder / RESULTS_MARK
    }
