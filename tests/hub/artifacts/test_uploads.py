"""Bundles and inputs: announced, uploaded once, checked, swept. On SQLite and on PostgreSQL."""

import asyncio
import hashlib
import io
import threading
from datetime import timedelta

import pytest
from sqlalchemy import select
from support.side_by_side import wait_until_blocked_or_done
from support.waiting import patience

from computepool.hub.artifacts import repository, service
from computepool.hub.artifacts.errors import (
    AnnouncedOtherwise,
    BadUpload,
    DigestMismatch,
    NoSuchArtifact,
    NotUploadedYet,
    UploadTooLarge,
)
from computepool.hub.artifacts.freeing import sweep_abandoned
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import EMPTY_DIGEST
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.core.errors import PoolError
from computepool.hub.core.tables import AuditRow

ALICE, BOB = "user_alice", "user_bob"
DATA = b"a bundle"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


async def begin(hub, data: bytes, owner: str = ALICE, **options):
    return await hub.uploads.begin(owner, digest_of(data), len(data), actor=owner, **options)


def put_parts(hub, artifact, uploads, data: bytes) -> None:
    for upload in uploads:
        start = upload.part * PART_BYTES
        hub.store.put(artifact.part_key(upload.part), data[start : start + upload.size_bytes])


async def stored(hub, data: bytes, owner: str = ALICE) -> Artifact:
    artifact, uploads = await begin(hub, data, owner)
    put_parts(hub, artifact, uploads, data)
    return await hub.uploads.complete(artifact.id, [owner], actor=owner)


def all_rows(hub) -> list[Artifact]:
    return asyncio.run(hub.context.db.read(lambda session: list(session.scalars(select(Artifact)))))


def actions(hub) -> list[str]:
    query = select(AuditRow.action).order_by(AuditRow.id)
    return asyncio.run(hub.context.db.read(lambda session: list(session.scalars(query))))


def test_a_bundle_is_announced_uploaded_and_stored(hub):
    async def story():
        artifact, (upload,) = await begin(hub, DATA)
        assert artifact.state == ArtifactState.UPLOADING
        assert (upload.part, upload.size_bytes) == (0, len(DATA))
        put_parts(hub, artifact, [upload], DATA)
        done = await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)
        assert (done.id, done.state, done.digest) == (artifact.id, ArtifactState.STORED, digest_of(DATA))
        assert done.stored_at is not None
        assert (await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)).id == artifact.id

    asyncio.run(story())
    assert actions(hub) == ["artifact.uploading", "artifact.stored"]


def test_the_same_content_is_uploaded_once(hub):
    async def story():
        first = await stored(hub, DATA)
        again, uploads = await begin(hub, DATA)
        assert (again.id, again.state, uploads) == (first.id, ArtifactState.STORED, [])
        as_input, uploads = await begin(hub, DATA, kind=ArtifactKind.INPUT)
        assert (as_input.id, uploads) == (first.id, [])

    asyncio.run(story())
    assert len(all_rows(hub)) == 1


def test_another_owner_has_to_bring_it_and_sees_nothing_of_the_first(hub):
    async def story():
        mine = await stored(hub, DATA)
        theirs, uploads = await begin(hub, DATA, BOB)
        assert theirs.id != mine.id
        assert len(uploads) == 1
        for attempt in (hub.uploads.get(mine.id, [BOB]), hub.uploads.complete(mine.id, [BOB], actor=BOB)):
            with pytest.raises(NoSuchArtifact):
                await attempt

    asyncio.run(story())


def test_two_uploads_of_one_digest_at_once_both_end_well(hub):
    async def upload():
        artifact, uploads = await begin(hub, DATA)
        put_parts(hub, artifact, uploads, DATA)
        return await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)

    async def story():
        results = await asyncio.gather(*[upload() for _ in range(8)])
        assert len({artifact.id for artifact in results}) == 1
        assert {artifact.state for artifact in results} == {ArtifactState.STORED}

    asyncio.run(story())
    assert len(all_rows(hub)) == 1
    assert actions(hub).count("artifact.stored") == 1


def test_what_is_not_there_cannot_be_completed(hub):
    async def story():
        artifact, _ = await begin(hub, DATA)
        with pytest.raises(NotUploadedYet, match="Missing parts: 0"):
            await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)
        hub.store.put(artifact.part_key(0), DATA[:-1])
        with pytest.raises(NotUploadedYet):
            await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)
        assert (await hub.uploads.get(artifact.id, [ALICE])).state == ArtifactState.UPLOADING

    asyncio.run(story())


LARGE = bytes(PART_BYTES) + b"and a little more"
LARGE_PARTS = [digest_of(LARGE[:PART_BYTES]), digest_of(LARGE[PART_BYTES:])]


def test_a_large_upload_resumes_at_the_missing_part(hub):
    async def story():
        artifact, uploads = await begin(hub, LARGE, part_digests=LARGE_PARTS)
        assert [(each.part, each.size_bytes) for each in uploads] == [(0, PART_BYTES), (1, 17)]
        put_parts(hub, artifact, uploads[:1], LARGE)
        with pytest.raises(NotUploadedYet, match="Missing parts: 1"):
            await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)
        again, rest = await begin(hub, LARGE, part_digests=LARGE_PARTS)
        assert (again.id, [each.part for each in rest]) == (artifact.id, [1])
        put_parts(hub, artifact, rest, LARGE)
        assert (await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)).state == ArtifactState.STORED

    asyncio.run(story())


def test_parts_that_do_not_make_the_whole_are_refused_and_a_right_upload_still_works(hub):
    async def story():
        claimed = digest_of(b"something else")
        artifact, uploads = await hub.uploads.begin(ALICE, claimed, len(LARGE), part_digests=LARGE_PARTS, actor=ALICE)
        put_parts(hub, artifact, uploads, LARGE)
        with pytest.raises(DigestMismatch):
            await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)
        with pytest.raises(NoSuchArtifact):
            await hub.uploads.get(artifact.id, [ALICE])
        again, _ = await hub.uploads.begin(ALICE, claimed, len(LARGE), part_digests=LARGE_PARTS, actor=ALICE)
        assert again.id != artifact.id

    asyncio.run(story())


def test_an_announcement_that_contradicts_the_first_takes_its_place_until_one_is_stored(hub):
    async def story():
        first, _ = await hub.uploads.begin(ALICE, digest_of(DATA), 3, actor=ALICE)
        second = await stored(hub, DATA)
        assert second.id != first.id
        with pytest.raises(NoSuchArtifact):
            await hub.uploads.complete(first.id, [ALICE], actor=ALICE)
        with pytest.raises(AnnouncedOtherwise, match=f"with {len(DATA)} bytes"):
            await hub.uploads.begin(ALICE, digest_of(DATA), 3, actor=ALICE)

    asyncio.run(story())


def test_an_empty_artifact_needs_no_upload(hub):
    async def story():
        artifact, uploads = await begin(hub, b"")
        assert uploads == []
        assert (await hub.uploads.complete(artifact.id, [ALICE], actor=ALICE)).state == ArtifactState.STORED

    asyncio.run(story())


SHA = digest_of(DATA)


@pytest.mark.parametrize(
    ("digest", "size_bytes", "part_digests", "error"),
    [
        ("sha256:abc", 8, [], BadUpload),
        ("md5:" + "0" * 32, 8, [], BadUpload),
        (SHA.upper(), 8, [], BadUpload),
        (SHA + "\n", 8, [], BadUpload),
        (SHA, -1, [], BadUpload),
        (SHA, 0, [], BadUpload),
        (EMPTY_DIGEST, 8, [], BadUpload),
        (SHA, 8, [digest_of(b"other")], BadUpload),
        (SHA, 8, [SHA, SHA], BadUpload),
        (SHA, 8, [SHA], None),
        (SHA, PART_BYTES + 1, [], BadUpload),
        (SHA, PART_BYTES + 1, [SHA], BadUpload),
        (SHA, PART_BYTES + 1, [SHA, "sha256:x"], BadUpload),
        (SHA, PART_BYTES + 1, [SHA, SHA, SHA], BadUpload),
        (SHA, 100 * 1024**2 + 1, [SHA] * 4, UploadTooLarge),
        (SHA, 10**18, [], UploadTooLarge),
    ],
)
def test_an_announcement_must_make_sense(digest, size_bytes, part_digests, error):
    if error is None:
        service.check_announcement(digest, size_bytes, part_digests, 100 * 1024**2)
        return
    with pytest.raises(error) as refused:
        service.check_announcement(digest, size_bytes, part_digests, 100 * 1024**2)
    assert isinstance(refused.value, PoolError)


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_a_bundle_that_came_with_a_request_is_kept(stored_hub, data):
    async def story():
        artifact = await stored_hub.uploads.keep_file(ALICE, io.BytesIO(data), actor=ALICE)
        assert (artifact.state, artifact.digest) == (ArtifactState.STORED, digest_of(data))
        again = await stored_hub.uploads.keep_file(ALICE, io.BytesIO(data), actor=ALICE)
        assert again.id == artifact.id
        if data:
            last = artifact.part_count - 1
            tail = stored_hub.store.read(artifact.part_key(last), 0, artifact.part_size(last))
            assert tail == data[last * PART_BYTES :]

    asyncio.run(story())


def test_a_file_over_the_limit_is_not_kept(hub):
    async def story():
        with pytest.raises(UploadTooLarge):
            await hub.limited_to(10).uploads.keep_file(ALICE, io.BytesIO(b"x" * 11), actor=ALICE)

    asyncio.run(story())
    assert all_rows(hub) == []


def test_upload_that_is_larger_than_any_may_be_is_not_refused_for_the_room_on_the_disk(hub):
    async def story():
        with pytest.raises(UploadTooLarge):
            await hub.uploads.begin(ALICE, SHA, 10**18, actor=ALICE)

    asyncio.run(story())


def test_uploads_nobody_can_finish_are_swept_and_others_are_not(hub, clock):
    async def story():
        finished = await stored(hub, b"finished")
        left, uploads = await begin(hub, b"left behind")
        put_parts(hub, left, uploads, b"left behind")
        contradicted, _ = await hub.uploads.begin(ALICE, digest_of(b"c"), 2, actor=ALICE)
        await begin(hub, b"c")
        assert await sweep_abandoned(hub.context, hub.store) == 1
        with clock.moved(timedelta(hours=23)):
            renewed, _ = await begin(hub, b"c")
            assert await sweep_abandoned(hub.context, hub.store) == 0
        with clock.moved(timedelta(hours=25, minutes=1)):
            assert await sweep_abandoned(hub.context, hub.store) == 1
        assert hub.store.list(left.folder) == []
        assert len(hub.store.list(finished.folder)) == 1
        return {finished.id, renewed.id}, {left.id, contradicted.id}

    kept, swept = asyncio.run(story())
    assert {row.id for row in all_rows(hub)} == kept
    assert not kept & swept


def test_what_is_stored_cannot_be_abandoned_nor_the_other_way_round(hub):
    async def story():
        done = await stored(hub, b"done")
        left, _ = await begin(hub, b"left")
        assert await hub.context.db.run(repository.mark_abandoned, [done.id, left.id]) == {left.id}
        assert await hub.context.db.run(repository.mark_stored, [done.id, left.id], hub.context.now()) == set()

    asyncio.run(story())
    assert {row.state for row in all_rows(hub)} == {ArtifactState.STORED, ArtifactState.ABANDONED}


def test_an_upload_completed_while_the_sweep_looks_keeps_its_bytes(postgres_hub, local_store, clock, make_hub):
    """The sweep has seen it as unfinished, and waits for the row that the completion is changing."""
    hub = make_hub(postgres_hub, local_store)
    before = clock.now() + timedelta(days=2)

    async def story():
        artifact, uploads = await begin(hub, DATA)
        put_parts(hub, artifact, uploads, DATA)
        changed, swept = threading.Event(), threading.Event()

        def complete_slowly(session):
            repository.mark_stored(session, [artifact.id], hub.context.now())
            session.flush()
            changed.set()
            wait_until_blocked_or_done(hub.context.db.engine, swept.is_set)
            assert not swept.is_set(), "the sweep did not wait"

        completing = asyncio.create_task(hub.context.db.run(complete_slowly))
        await asyncio.to_thread(changed.wait, patience())
        found = await hub.context.db.run(repository.abandon_unfinished, before, 10)
        swept.set()
        assert found == set()
        await completing
        assert (await hub.uploads.get(artifact.id, [ALICE])).state == ArtifactState.STORED

    asyncio.run(story())


def test_a_sweep_cut_off_after_the_objects_is_finished_by_the_next(hub, clock):
    async def story():
        left, uploads = await begin(hub, DATA)
        put_parts(hub, left, uploads, DATA)
        await hub.context.db.run(service.refuse_upload, left, clock.now())
        hub.store.delete(left.part_key(0))
        with clock.moved(timedelta(days=2)):
            assert await sweep_abandoned(hub.context, hub.store) == 1

    asyncio.run(story())
    assert all_rows(hub) == []
