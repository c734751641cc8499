"""`setup` builds an environment with the help of package indexes, and the next job of the renter has it at hand."""

import asyncio
import io
import os
import shutil
import tarfile
from ipaddress import ip_address

import pytest
from support.agents import running_agent
from support.containers import facts_of
from support.fake_hub import FakeHub
from support.outer_world import INDEX, SITE, outer_world
from support.private_engines import docker_engine

from computepool.agent.sandbox import BubblewrapSandbox, ContainerSandbox, ProcessSandbox
from computepool.agent.sandbox.containers import Engine
from computepool.protocol.manifest import Grant
from computepool.protocol.receipt import EndReason

pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.engine("bwrap")]

INSTALL = ("sh", "-c", "pip install --quiet -r requirements.txt")
ROOMY = Grant(cpus=1.0, memory_bytes=1 << 30, disk_bytes=1 << 30)
AT_HAND = b"found the environment of an earlier job"


def packed(**files: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name.replace("__", "."))
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


class Scene:
    def __init__(self, hub, running, world):
        self.hub, self.running, self.world = hub, running, world

    async def job(self, *argv, files=None, **changes):
        """(receipt, log) of a job that was run to its end."""
        bundle, downloads = self.hub.bundle(packed(**(files or {"requirements__txt": "tiny==1"})))
        attempt_id = self.hub.offer(
            self.running.node,
            *argv,
            bundle=bundle,
            downloads=downloads,
            **{"renter": "user_1", "grant": ROOMY, **changes},
        )
        await self.hub.until(lambda: attempt_id in self.hub.receipts)
        return self.hub.receipts[attempt_id], bytes(self.hub.logs[attempt_id])


def story(tmp_path, tell, sandbox=None, **outside):
    async def run():
        async with FakeHub() as hub, outer_world() as world:
            world.publish("tiny", "1", "VALUE = 'one'\n")
            world.publish("tiny", "2", "VALUE = 'two'\n")
            state = tmp_path / "state"
            used = sandbox(state) if sandbox else BubblewrapSandbox(state, bwrap=shutil.which("bwrap") or "bwrap")
            try:
                async with running_agent(hub, tmp_path, sandboxes=[used], outside=world.outside(**outside)) as running:
                    await tell(Scene(hub, running, world))
            finally:
                await used.close()

    asyncio.run(run())


def imports_tiny(scene, **more):
    return scene.job("python3", "-c", "import tiny; print(tiny.VALUE)", setup=INSTALL, **more)


def test_environment_is_built_once_and_used_by_the_next_job(tmp_path):
    async def tell(scene):
        receipt, log = await imports_tiny(scene)
        assert (receipt.exit_code, log.splitlines()[-1]) == (0, b"one"), log
        assert receipt.usage.setup_seconds > 0
        assert receipt.usage.network_bytes > 0
        assert f"{INDEX} /simple/tiny/" in scene.world.requests
        asked = len(scene.world.requests)
        # Other code, the same requirements.
        files = {"requirements__txt": "tiny==1", "train__py": "import tiny; print('again', tiny.VALUE)"}
        receipt, log = await scene.job("python3", "train.py", setup=INSTALL, files=files)
        assert receipt.exit_code == 0, log
        assert AT_HAND in log
        assert log.endswith(b"again one\n")
        assert len(scene.world.requests) == asked
        assert receipt.usage.setup_seconds == 0

    story(tmp_path, tell)


@pytest.mark.slow
@pytest.mark.engine("gvisor")
def test_gvisor_has_setup_and_the_internet_too(tmp_path):
    """Where nobody can enter the job's network, its door is opened from inside."""
    look = f"""
import tiny, urllib.error, urllib.request
print(tiny.VALUE, urllib.request.urlopen('http://{SITE}/').status)
try:
    urllib.request.urlopen('http://192.168.1.1/')
except urllib.error.HTTPError as error:
    print(error.code)
"""

    async def tell(scene):
        receipt, log = await scene.job("python3", "-c", look, setup=INSTALL, network=True, isolation="gvisor")
        assert receipt.exit_code == 0, log
        assert b"one 200\n" in log
        assert b"\n403\n" in log
        assert b"network: 192.168.1.1:80 was refused" in log
        assert receipt.isolation == "gvisor"
        assert receipt.usage.network_bytes > 0

    with docker_engine() as private:
        facts = asyncio.run(facts_of(private))
        engine = Engine(private.socket)
        story(tmp_path, tell, lambda state: ContainerSandbox(state, engine=engine, facts=facts, gvisor=True))


def test_changed_requirements_build_another_environment(tmp_path):
    async def tell(scene):
        await imports_tiny(scene)
        _, log = await imports_tiny(scene, files={"requirements__txt": "tiny==2"})
        assert AT_HAND not in log
        assert log.endswith(b"two\n")
        _, log = await imports_tiny(scene)
        assert AT_HAND in log
        assert log.endswith(b"one\n")

    story(tmp_path, tell)


def test_environment_of_one_renter_is_never_anothers(tmp_path):
    async def tell(scene):
        await imports_tiny(scene)
        _, log = await imports_tiny(scene, renter="user_2")
        assert AT_HAND not in log

    story(tmp_path, tell)


def test_kept_environment_cannot_be_changed_by_a_job(tmp_path):
    async def tell(scene):
        await imports_tiny(scene)
        poison = (
            "for f in $(find $COMPUTEPOOL_ENV -name tiny.py); do echo VALUE=3 > $f; done; rm -rf $COMPUTEPOOL_ENV/*"
        )
        _, log = await scene.job("sh", "-c", poison, setup=INSTALL)
        assert AT_HAND in log
        receipt, log = await imports_tiny(scene)
        assert (receipt.exit_code, log.splitlines()[-1]) == (0, b"one")

    story(tmp_path, tell)


@pytest.fixture
def closed_umask():
    """As the installed service has it."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("closed_umask")
def test_jobs_reach_all_they_need_whatever_the_agents_umask_is(tmp_path):
    async def tell(scene):
        receipt, log = await scene.job("sh", "-c", "id -un; cat /etc/hosts")
        assert (receipt.exit_code, log.splitlines()[0]) == (0, b"job"), log
        for _ in range(2):
            receipt, log = await imports_tiny(scene)
            assert (receipt.exit_code, log.splitlines()[-1:]) == (0, [b"one"]), receipt.detail
        assert AT_HAND in log

    story(tmp_path, tell)


def test_setup_that_fails_ends_the_job_with_its_own_code(tmp_path):
    async def tell(scene):
        receipt, log = await scene.job("sh", "-c", "echo never", setup=("sh", "-c", "echo trouble; exit 7"))
        assert (receipt.exit_code, receipt.reason) == (7, EndReason.EXITED)
        assert "setup failed with exit code 7" in receipt.detail
        assert log == b"trouble\n"

    story(tmp_path, tell)


def test_setup_that_writes_where_the_job_works_runs_every_time(tmp_path):
    async def tell(scene):
        for _ in range(2):
            _, log = await scene.job("cat", "built", setup=("sh", "-c", "echo made > built"))
            assert AT_HAND not in log
            assert b"will run again" in log
            assert log.endswith(b"made\n")

    story(tmp_path, tell)


def test_setup_that_writes_into_the_jobs_home_runs_every_time(tmp_path):
    async def tell(scene):
        script = 'echo weights > ~/marker; echo model > "$COMPUTEPOOL_CHECKPOINT/model"'
        for _ in range(2):
            receipt, log = await scene.job(
                "sh", "-c", 'cat ~/marker "$COMPUTEPOOL_CHECKPOINT/model"', setup=("sh", "-c", script)
            )
            assert receipt.exit_code == 0, log
            assert b"will run again" in log
            assert log.endswith(b"weights\nmodel\n")

    story(tmp_path, tell)


def test_changed_file_that_requirements_include_builds_another_environment(tmp_path):
    async def tell(scene):
        for version, value in (("1", b"one"), ("2", b"two"), ("1", b"one")):
            files = {"requirements__txt": "-r base.txt\n", "base__txt": f"tiny=={version}"}
            _, log = await imports_tiny(scene, files=files)
            assert log.splitlines()[-1] == value
        assert AT_HAND in log

    story(tmp_path, tell)


def test_setup_reaches_package_indexes_and_nothing_else(tmp_path):
    async def tell(scene):
        fetch = f"python3 -c \"import urllib.request as r; print(r.urlopen('http://{SITE}/').read())\""
        receipt, log = await scene.job("true", setup=("sh", "-c", fetch))
        assert receipt.exit_code == 1
        assert b"403" in log
        assert f"{SITE}:80 is not a package index".encode() in log
        assert scene.world.requests == []

    story(tmp_path, tell)


def test_job_has_the_internet_only_if_it_asks_for_it(tmp_path):
    async def tell(scene):
        fetch = f"import urllib.request as r; print(r.urlopen('http://{SITE}/page', timeout=300).read())"
        receipt, log = await scene.job("python3", "-c", fetch, network=True)
        assert receipt.exit_code == 0, log
        assert b"hello from the site" in log
        assert receipt.usage.network_bytes > 0
        receipt, log = await scene.job("python3", "-c", fetch)
        assert receipt.exit_code == 1
        assert scene.world.requests == [f"{SITE} /page"]

    story(tmp_path, tell)


def test_job_with_the_internet_never_sees_the_network_at_home(tmp_path):
    async def tell(scene):
        for target in ("192.168.1.1", "127.0.0.2.rebound.example", "169.254.169.254", "10.0.0.7.rebound.example"):
            fetch = f"import urllib.request as r; print(r.urlopen('http://{target}/', timeout=300).read())"
            receipt, log = await scene.job("python3", "-c", fetch, network=True)
            assert receipt.exit_code == 1, log
            assert b"403" in log
        assert scene.world.requests == []

    story(tmp_path, tell)


def test_plain_process_builds_its_environment_each_time(tmp_path):
    """Its paths are the host's own, so that what it builds cannot be moved."""

    async def tell(scene):
        script = ("sh", "-c", 'mkdir -p "$COMPUTEPOOL_ENV/bin"; ln -s /bin/echo "$COMPUTEPOOL_ENV/bin/shout"')
        for _ in range(2):
            receipt, log = await scene.job("shout", "hello", setup=script)
            assert (receipt.exit_code, log) == (0, b"hello\n"), log

    story(tmp_path, tell, sandbox=lambda state: ProcessSandbox(state, cgroups=None))


def test_index_on_this_machine_is_used_once_the_host_allows_it(tmp_path):
    """As a company has it: what the index's name leads to is not public."""
    allowed: set[str] = set()

    async def home(host, port):
        return [ip_address("127.0.0.1")]

    async def tell(scene):
        place = f"{INDEX}:{scene.world.port}"
        index = {"PIP_INDEX_URL": f"http://{place}/simple", "PIP_TRUSTED_HOST": INDEX}
        receipt, log = await imports_tiny(scene, env=index)
        assert receipt.exit_code != 0
        assert f'the node\'s owner allows it with indexes = ["{place}"] under [network]'.encode() in log
        allowed.add(place)
        receipt, log = await imports_tiny(scene, env=index)
        assert (receipt.exit_code, log.splitlines()[-1]) == (0, b"one"), log

    story(tmp_path, tell, upstream=None, lookup=home, allowed=lambda: frozenset(allowed))


def test_what_setup_installs_does_not_count_against_the_jobs_disk(tmp_path):
    small = Grant(cpus=1.0, memory_bytes=256 << 20, disk_bytes=16 << 20)
    install = ("sh", "-c", "head -c 48M /dev/zero > $TMPDIR/part; mv $TMPDIR/part $COMPUTEPOOL_ENV/large; sleep 3")
    writes = "head -c {} /dev/zero > result; sleep {}"

    async def tell(scene):
        for elsewhere in ("", "; touch ~/elsewhere"):  # kept apart from the job's folder, or left in it
            setup = (*install[:2], install[2] + elsewhere)
            receipt, log = await scene.job("sh", "-c", writes.format("8M", 3), setup=setup, grant=small)
            assert (receipt.reason, receipt.exit_code) == (EndReason.EXITED, 0), log
            receipt, log = await scene.job("sh", "-c", writes.format("32M", 600), setup=setup, grant=small)
            assert receipt.reason is EndReason.DISK, log
        receipt, log = await scene.job("ls", "-a", setup=("sh", "-c", "ls -d $TMPDIR; exit 5"))
        assert (receipt.exit_code, b"/env/.tmp" in log) == (5, True)

    story(tmp_path, tell)
