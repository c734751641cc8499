"""Outputs: granted to one attempt, bound to path, size and digest, stored when their bytes are there."""

import asyncio
import hashlib

import pytest
from sqlalchemy import select

from computepool.hub.artifacts.errors import BadUpload
from computepool.hub.artifacts.outputs import (
    OutputsRefused,
    check_path,
    complete_outputs,
    grant_outputs,
)
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.artifacts.transfers import downloads_for
from computepool.protocol.limits import OUTPUT_FILES_LIMIT
from computepool.protocol.messages import UploadFile
from computepool.protocol.receipt import OutputRef

ALICE = "user_alice"
A, B = "attempt_a", "attempt_b"


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def file(path: str, data: bytes) -> UploadFile:
    parts = [data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES)]
    digests = tuple(digest_of(part) for part in parts) if len(parts) > 1 else ()
    return UploadFile(path=path, size_bytes=len(data), digest=digest_of(data), part_digests=digests)


def ref(path: str, data: bytes) -> OutputRef:
    return OutputRef(path=path, digest=digest_of(data), size_bytes=len(data))


def put_targets(server, targets, contents: dict[str, bytes]) -> None:
    for target in targets:
        data = contents[target.path]
        for part, url in enumerate(target.urls):
            if url:
                start = part * target.part_bytes
                piece = data[start : start + target.part_bytes]
                response = server.put(url, piece, target.headers[part])
                assert response.status_code in (200, 201), response.text


def list_outputs(session, attempt_ids):
    """The stored ones, by attempt and path."""
    stored = select(Artifact).where(Artifact.attempt_id.in_(attempt_ids), Artifact.state == ArtifactState.STORED)
    return session.scalars(stored.order_by(Artifact.attempt_id, Artifact.path)).all()


async def listed(hub, *attempt_ids: str) -> list[tuple[str | None, str | None]]:
    rows = await hub.context.db.read(list_outputs, attempt_ids)
    return [(row.attempt_id, row.path) for row in rows]


LARGE = bytes(PART_BYTES) + b"the rest"
CONTENTS = {"model.bin": b"weights", "logs/säge.txt": b"", "large": LARGE}


def test_whole_that_its_parts_do_not_make_is_found_on_both_stores(server):
    """A node may sign any digest: each part is as announced, and together they are something else."""
    hub = server.hub

    async def story():
        honest = file("large", LARGE)
        claimed = digest_of(b"what the renter was promised")
        lie = honest.model_copy(update={"digest": claimed})
        targets = await hub.outputs.grant(A, ALICE, [lie, file("small", b"x")])
        put_targets(server, targets, {"large": LARGE, "small": b"x"})
        refs = [OutputRef(path="large", digest=claimed, size_bytes=len(LARGE)), ref("small", b"x")]
        for _ in range(2):
            assert await hub.outputs.complete(A, refs) == "not what was announced: large"
        assert await listed(hub, A) == []
        put_targets(server, await hub.outputs.grant(B, ALICE, [honest]), {"large": LARGE})
        both = await asyncio.gather(*(hub.outputs.complete(B, [ref("large", LARGE)]) for _ in range(2)))
        assert both == [None, None]
        assert await listed(hub, B) == [(B, "large")]

    asyncio.run(story())


def test_outputs_are_granted_uploaded_stored_and_downloaded_on_both_stores(server):
    hub = server.hub

    async def story():
        files = [file(path, data) for path, data in CONTENTS.items()]
        refs = [ref(path, data) for path, data in CONTENTS.items()]
        targets = await hub.outputs.grant(A, ALICE, files)
        assert [target.path for target in targets] == list(CONTENTS)
        assert [len(target.urls) for target in targets] == [1, 0, 2]
        assert "model.bin" in (await hub.outputs.complete(A, refs) or "")
        put_targets(server, targets[:2], CONTENTS)
        assert await hub.outputs.complete(A, refs) == "not uploaded whole: large"
        again = await hub.outputs.grant(A, ALICE, files)
        assert [len(target.urls) for target in again] == [0, 0, 2]
        put_targets(server, again, CONTENTS)
        assert await hub.outputs.complete(A, refs) is None
        assert await hub.outputs.complete(A, refs) is None
        rows = await hub.context.db.read(list_outputs, [A])
        for row in rows:
            got = b"".join(server.get(url).content for url in downloads_for(hub.store, row))
            assert got == CONTENTS[row.path]
        assert all(not target.urls for target in await hub.outputs.grant(A, ALICE, files))

    asyncio.run(story())


def test_a_grant_resumes_at_the_missing_part(server):
    hub = server.hub

    async def story():
        (target,) = await hub.outputs.grant(A, ALICE, [file("large", LARGE)])
        put_targets(server, [target.model_copy(update={"urls": (target.urls[0], "")})], {"large": LARGE})
        (rest,) = await hub.outputs.grant(A, ALICE, [file("large", LARGE)])
        assert rest.urls[0] == ""
        assert rest.urls[1]

    asyncio.run(story())


def test_a_repeated_grant_is_the_same_grant(hub):
    async def story():
        files = [file("a", b"1"), file("b", b"2")]
        first = await hub.context.db.run(grant, files)
        again = await hub.context.db.run(grant, list(reversed(files)))
        assert [row.id for row in again] == [row.id for row in reversed(first)]

    def grant(session, files, attempt=A):
        return grant_outputs(
            session, attempt, ALICE, files, hub.context.now(), new_id=hub.context.new_id, limit_bytes=10**9
        )

    asyncio.run(story())


def test_the_same_grants_at_once_all_end_well(hub):
    async def story():
        files = [file(f"out/{number}", b"%d" % number) for number in range(50)]
        results = await asyncio.gather(*[hub.outputs.grant(A, ALICE, files) for _ in range(6)])
        return [[target.path for target in targets] for targets in results]

    paths = asyncio.run(story())
    assert all(each == paths[0] for each in paths)
    rows = asyncio.run(hub.context.db.read(lambda session: list(session.scalars(select(Artifact)))))
    assert len(rows) == 50


def test_an_output_that_changed_before_it_was_stored_is_granted_anew(hub):
    async def story():
        await hub.outputs.grant(A, ALICE, [file("a", b"first")])
        await hub.outputs.grant(A, ALICE, [file("a", b"second")])
        rows = await hub.context.db.read(lambda session: list(session.scalars(select(Artifact))))
        active = next(row for row in rows if row.state == "uploading")
        hub.store.put(active.part_key(0), b"second")
        assert await hub.outputs.complete(A, [ref("a", b"first")]) == "not uploaded whole: a"
        assert await hub.outputs.complete(A, [ref("a", b"second")]) is None
        with pytest.raises(OutputsRefused, match="already stored with different content"):
            await hub.outputs.grant(A, ALICE, [file("a", b"third")])

    asyncio.run(story())


def test_an_attempts_outputs_are_its_own(hub):
    async def story():
        for attempt in (A, B):
            await hub.outputs.grant(attempt, ALICE, [file("a", b"x")])
        rows = await hub.context.db.read(lambda session: list(session.scalars(select(Artifact))))
        (of_a,) = (row for row in rows if row.attempt_id == A)
        hub.store.put(of_a.part_key(0), b"x")
        assert await hub.outputs.complete(B, [ref("a", b"x")]) == "not uploaded whole: a"
        assert await hub.outputs.complete(A, [ref("a", b"x")]) is None
        assert await listed(hub, A, B) == [(A, "a")]
        assert await listed(hub, B) == []

    asyncio.run(story())


def test_what_was_never_granted_is_not_stored(hub):
    async def story():
        await hub.outputs.grant(A, ALICE, [file("a", b"")])
        assert await hub.outputs.complete(A, [ref("a", b""), ref("b", b"")]) == "not uploaded whole: b"
        strange = await hub.context.db.run(complete_outputs, A, [ref("a", b""), ref("b", b"")], hub.context.now())
        assert strange == ["b"]
        assert await listed(hub, A) == []
        assert await hub.outputs.complete(A, []) is None

    asyncio.run(story())


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([file("a", b"x" * 60), file("b", b"x" * 60)], "120 bytes together"),
        ([file("a", b"x" * 101)], "101 bytes"),
        ([file("a", b"1"), file("a", b"1")], "same path twice"),
        ([file("../a", b"1")], "relative path"),
        ([file("fine", b"1"), file("back\\slash", b"1")], r'"back\\slash" has a backslash'),
        ([file("two\nlines", b"1")], r'"two\\nlines" has a control'),
        ([UploadFile(path="a", size_bytes=1, digest="sha256:no")], "digest"),
    ],
)
def test_a_grant_that_cannot_be_is_refused_whole_and_says_why(hub, files, reason):
    async def story():
        with pytest.raises(OutputsRefused, match=reason):
            await hub.limited_to(100).outputs.grant(A, ALICE, files)
        return await hub.context.db.read(lambda session: list(session.scalars(select(Artifact))))

    assert asyncio.run(story()) == []


def test_too_many_files_are_refused(hub):
    async def story():
        files = [file(f"{number}", b"") for number in range(OUTPUT_FILES_LIMIT)]
        assert len(await hub.outputs.grant(A, ALICE, files)) == OUTPUT_FILES_LIMIT
        with pytest.raises(OutputsRefused, match="pack them into one archive"):
            await hub.outputs.grant(A, ALICE, [file("one more", b"")])
        assert await hub.outputs.complete(A, [ref(each.path, b"") for each in files]) is None
        assert len(await listed(hub, A)) == OUTPUT_FILES_LIMIT

    asyncio.run(story())


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "..",
        "a/../b",
        "a//b",
        "./a",
        "a/.",
        "a/",
        "a\\b",
        "a\0b",
        "a\nb",
        "\x1b[31m",
        "x" * 1025,
        "a\u202eb",
    ],
)
def test_a_path_may_only_lead_downwards(path):
    with pytest.raises(BadUpload):
        check_path(path)


@pytest.mark.parametrize("path", ["a", ".hidden", "a b/ö.txt", "a/..b", "deep/" * 20 + "x", "模型.bin"])
def test_an_ordinary_path_is_fine(path):
    check_path(path)
