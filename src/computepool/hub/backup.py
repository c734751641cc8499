"""The whole truth of a hub in one encrypted file: every row, and the secret key that its keys open with.

Rows are written by table with the kind of each column, so a backup of SQLite restores into PostgreSQL and the other
way round. Artifacts and logs are not in it: they live in the store (`COMPUTEPOOL_STORAGE_URL`), which is copied by its
own means. A restore also brings back what was deleted or revoked after the backup was made.
"""

import base64
import gzip
import io
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection, Engine, func, inspect, make_url, select, table, text
from sqlalchemy import column as sql_column
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from computepool import __version__
from computepool.hub.backup_rows import TableShape, shapes_of
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.db import durable_engine, in_transaction
from computepool.hub.core.facts import HUB_ID, raise_fence_epoch
from computepool.hub.core.files import sync_folder
from computepool.hub.core.keyring import PURPOSE
from computepool.hub.core.records import record
from computepool.hub.core.secrets import CannotDecryptError, decrypt, keep_secret_key
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import HubFact
from computepool.hub.lock import lock_database
from computepool.hub.opening import prepare_home
from computepool.hub.schema import (
    SchemaError,
    changing_schema,
    current_revision,
    is_known,
    newest_revision,
    refuse_unknown,
    upgrade,
)
from computepool.hub.sealed_stream import LOG2_N, MAGIC, CannotOpen, SealedReader, SealedWriter
from computepool.hub.secret_key import next_secret_file, secret_file

FORMAT = 1
BATCH_ROWS = 500
NOT_INCLUDED = "artifacts and logs: copy the store (COMPUTEPOOL_STORAGE_URL, or the folder artifacts) as well"


class BackupError(Exception):
    """A backup was not made, or not restored. The text says why; nothing was changed."""


@dataclass(frozen=True)
class BackupInfo:
    file: Path
    size_bytes: int
    revision: str
    created_at: datetime
    rows: dict[str, int]
    """How many, by table."""
    not_included: str = NOT_INCLUDED


@dataclass(frozen=True)
class RestoreInfo:
    backup_created_at: datetime
    backup_hub_version: str
    backup_revision: str
    revision: str
    rows: dict[str, int]
    fence_epoch: int
    secret_key_file: Path | None
    """Where the secret key was written to; None if it was in place already."""
    not_included: str = NOT_INCLUDED


@dataclass(frozen=True)
class Header:
    format: int
    revision: str
    hub_version: str
    created_at: str
    secret_key: str


def backup(settings: Settings, file: Path, passphrase: str, *, log2_n: int = LOG2_N) -> BackupInfo:
    """Write everything to `file`, or nothing. A hub may be running meanwhile: it is one moment's truth.

    `log2_n` is what a guess of the passphrase costs; only tests have a reason to lower it.
    """
    secret_key = _secret_key_in_use(settings)
    if secret_key is None:
        raise BackupError(f"There is no secret key: {secret_file(settings)} does not exist. Has this hub ever run?")
    now = SystemClock().now()
    with _open_existing(settings) as engine, _snapshot(engine) as connection:
        refuse_unknown(connection)
        revision = current_revision(connection)
        if revision is None:
            raise BackupError("The database is empty: there is nothing to back up.")
        secret_key = _secret_key_of(connection, settings, secret_key)
        header = Header(FORMAT, revision, __version__, now.isoformat(), secret_key)
        with _written_whole(file) as draft:
            rows = _write_everything(_sealed(draft, passphrase, log2_n), header, connection)
    return BackupInfo(file, file.stat().st_size, revision, now, rows)


def restore(settings: Settings, file: Path, passphrase: str) -> RestoreInfo:
    """Fill an empty database from `file`, bring it up to date, and raise the fence epoch; or leave it empty."""
    with _reading(file, passphrase) as lines:
        header = _read_header(lines)
        in_use = _secret_key_in_use(settings)
        _refuse_other_secret(settings, in_use, header.secret_key)
        prepare_home(settings)
        lock = lock_database(settings)
        engine = durable_engine(settings.effective_database_url)
        new_key_file = secret_file(settings) if in_use is None else None
        try:
            with ExitStack() as undo:
                with changing_schema(engine) as connection:
                    rows, epoch = _fill(connection, lines, header)
                    if new_key_file is not None:
                        # Before the commit: a database without its key is worse than a key without its database.
                        keep_secret_key(new_key_file, header.secret_key)
                        if _secret_key_in_use(settings) != header.secret_key:
                            raise BackupError(f"Something else is in the way of {new_key_file}.")
                        undo.callback(new_key_file.unlink)
                undo.pop_all()
        finally:
            engine.dispose()
            lock.close()
    made_at = datetime.fromisoformat(header.created_at)
    return RestoreInfo(
        made_at, header.hub_version, header.revision, newest_revision(), rows, epoch, secret_key_file=new_key_file
    )


# ── out ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _sealed(draft: IO[bytes], passphrase: str, log2_n: int) -> SealedWriter:
    try:
        return SealedWriter(draft, passphrase, log2_n=log2_n)
    except CannotOpen as error:
        raise BackupError(str(error)) from None


def _write_everything(sealed: SealedWriter, header: Header, connection: Connection) -> dict[str, int]:
    rows = {}
    with gzip.GzipFile(fileobj=sealed, mode="wb") as zipped:
        _put(zipped, header.__dict__)
        for shape in shapes_of(connection):
            _put(zipped, {"table": shape.name, "columns": shape.columns})
            rows[shape.name] = 0
            try:
                for row in connection.execute(shape.select().execution_options(yield_per=BATCH_ROWS)):
                    _put(zipped, shape.to_json(row))
                    rows[shape.name] += 1
            except (ValueError, TypeError) as error:
                raise BackupError(f"The table {shape.name} holds a value that makes no sense: {error}") from error
        _put(zipped, {"end": rows})
    sealed.finish()
    return rows


def _put(zipped: gzip.GzipFile, line: object) -> None:
    zipped.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


@contextmanager
def _open_existing(settings: Settings) -> Iterator[Engine]:
    url = make_url(settings.effective_database_url)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise BackupError(f"There is no database at {url.database}.")
    engine = durable_engine(settings.effective_database_url)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _snapshot(engine: Engine) -> Iterator[Connection]:
    """Every statement sees the same moment, and nobody has to wait for it."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            yield connection.execution_options(only_looks=True)
        else:
            yield connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


@contextmanager
def _written_whole(file: Path) -> Iterator[IO[bytes]]:
    """For its owner's eyes only, and there with all of its content or not at all."""
    if file.exists() and not _looks_like_backup(file):
        raise BackupError(f"{file} exists and is not a backup. Choose another name.")
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            yield opened
            opened.flush()
            os.fsync(opened.fileno())
        draft.replace(file)
        sync_folder(file.parent)
    except OSError as error:
        raise BackupError(f"{file} could not be written: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)


def _looks_like_backup(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


# ── in ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _reading(file: Path, passphrase: str) -> Iterator[Iterator[Any]]:
    """The lines of a backup. That it is whole is known once the last of them was read."""
    try:
        with file.open("rb") as opened:
            sealed = io.BufferedReader(SealedReader(opened, passphrase))
            with gzip.GzipFile(fileobj=sealed) as zipped:
                yield (json.loads(line) for line in zipped)
    except CannotOpen as error:
        raise BackupError(f"{file}: {error}") from None
    except OSError as error:
        raise BackupError(f"{error.filename or file}: {error.strerror or error}.") from error
    except SQLAlchemyError as error:
        raise BackupError(f"The database did not take the backup: {str(error).splitlines()[0]}") from error
    except SchemaError as error:
        raise BackupError(str(error)) from error


def _read_header(lines: Iterator[Any]) -> Header:
    fields = next(lines)
    if fields["format"] != FORMAT or not is_known(fields["revision"]):
        raise BackupError(
            f"The backup was made by a newer version of ComputePool ({fields['hub_version']}). Upgrade this one first."
        )
    return Header(**fields)


def _fill(connection: Connection, lines: Iterator[Any], header: Header) -> tuple[dict[str, int], int]:
    if inspect(connection).get_table_names():
        raise BackupError("The database is not empty. Restore into an empty one, so that nothing is overwritten.")
    upgrade(connection, header.revision)
    rows = _load(connection, lines)
    _check_keys_open(connection, header.secret_key)
    upgrade(connection)
    if connection.dialect.name == "postgresql":
        _count_on(connection)
    epoch, records = in_transaction(connection, lambda session: _note_restore(session, header))
    records.write(connection)
    return rows, epoch


def _load(connection: Connection, lines: Iterator[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    shape: TableShape | None = None
    batch: list[dict[str, Any]] = []

    def flush() -> None:
        if shape is not None and batch:
            connection.execute(shape.insert(), batch)
            counts[shape.name] += len(batch)
            batch.clear()

    for line in lines:
        if isinstance(line, list):
            assert shape is not None, "a table's name comes before its rows"
            batch.append(shape.from_json(line))
            if len(batch) == BATCH_ROWS:
                flush()
            continue
        flush()
        if "end" in line:
            _check_counts(connection, counts, line["end"])
            if next(lines, None) is not None:  # reading on to the end is also what proves the file whole
                raise BackupError("The backup goes on after its end.")
            return counts
        shape = TableShape(line["table"], [(name, kind) for name, kind in line["columns"]], connection.dialect.name)
        counts[shape.name] = 0
    raise BackupError("The backup has no end.")


def _check_counts(connection: Connection, read: dict[str, int], written: dict[str, int]) -> None:
    stored = {name: connection.scalar(select(func.count()).select_from(table(name))) for name in written}
    if not read == stored == written:
        wrong = [name for name in written if not read.get(name) == stored[name] == written[name]]
        raise BackupError(f"Not every row of {', '.join(wrong) or 'the backup'} arrived.")


def _count_on(connection: Connection) -> None:
    """PostgreSQL counts beside the table: tell it which numbers are taken."""
    for name in inspect(connection).get_table_names():
        for column in inspect(connection).get_pk_constraint(name)["constrained_columns"]:
            counter = connection.scalar(select(func.pg_get_serial_sequence(f'"{name}"', column)))
            highest = counter and connection.scalar(select(func.max(sql_column(column))).select_from(table(name)))
            if highest is not None:
                connection.execute(select(func.setval(counter, highest)))


def _note_restore(session: Session, header: Header) -> int:
    now = SystemClock().now()
    epoch = raise_fence_epoch(session, now)
    hub = session.get(HubFact, HUB_ID)
    subject = hub.value if hub is not None else "hub"
    record(session, "hub.restored", subject, now, fence_epoch=epoch, backup_created_at=header.created_at)
    return epoch


# ── the secret key ───────────────────────────────────────────────────────────────────────────────────────────────────


def _secret_key_in_use(settings: Settings) -> str | None:
    if settings.secret_key is not None:
        return settings.secret_key
    file = secret_file(settings)
    return file.read_text().strip() if file.exists() else None


def _secret_key_of(connection: Connection, settings: Settings, in_use: str) -> str:
    """The secret that opens the keys: where its rotation was interrupted, that may be the next one already."""
    try:
        _check_keys_open(connection, in_use)
        return in_use
    except BackupError:
        coming = next_secret_file(settings)
        if settings.secret_key is not None or not coming.exists():
            raise
    secret_key = coming.read_text().strip()
    _check_keys_open(connection, secret_key)
    return secret_key


def _check_keys_open(connection: Connection, secret_key: str) -> None:
    """A backup whose keys nobody can use is none."""
    for key_id, sealed in connection.execute(text("SELECT id, private_key FROM hub_keys")):
        try:
            decrypt(secret_key.encode(), PURPOSE, base64.b64decode(sealed), bound_to=key_id)
        except CannotDecryptError:
            raise BackupError(
                "The secret key does not open this hub's signing keys. Is COMPUTEPOOL_SECRET_KEY, or the file "
                "secret.key in the home folder, the one that the hub runs with?"
            ) from None


def _refuse_other_secret(settings: Settings, in_use: str | None, kept: str) -> None:
    if in_use is None or in_use == kept:
        return
    if settings.secret_key is not None:
        raise BackupError(
            "COMPUTEPOOL_SECRET_KEY is set, and is not the secret key of the backup. Unset it, or set it to that one."
        )
    raise BackupError(
        f"{secret_file(settings)} holds another secret key than the backup. Move it away if it is not needed any more."
    )
