"""What every sandbox must make of a job that writes too much, whichever way. Each has a control within the limit."""

from dataclasses import replace

from support.sandboxes import ROOMY, Bench

MEGABYTE = 1 << 20
LIMITS = replace(ROOMY, disk_bytes=4 * MEGABYTE)
MANY_FILES = "i=0; while [ $i -lt 12 ]; do head -c 1000000 /dev/zero > f$i; %s i=$((i+1)); done; sleep %s"
OPEN_AND_DELETED = (
    'for i in 3 4 5 6 7 8; do eval "exec $i> f$i"; rm f$i; eval "head -c 1000000 /dev/zero >&$i"; done; sleep 3600'
)


def big_file_is_stopped(bench: Bench, *, only_found_out: bool = False) -> None:
    """`only_found_out` where nothing keeps the file itself from growing."""
    assert bench.shell("head -c 3000000 /dev/zero > a", limits=LIMITS)[0].code == 0
    folder = bench.folder()
    ended, _ = bench.shell("exec head -c 9000000 /dev/zero > a", limits=LIMITS, folder=folder)
    assert ended.reason == "disk"
    if not only_found_out:
        assert (folder / "work" / "a").stat().st_size <= 4 * MEGABYTE


def many_files_are_stopped(bench: Bench) -> None:
    ended, _ = bench.shell(MANY_FILES % ("rm f$i;", 1.5), limits=LIMITS)
    assert (ended.code, ended.reason) == (0, "exited")  # the control: never much at once
    ended, _ = bench.shell(MANY_FILES % ("", 3600), limits=LIMITS)
    assert ended.reason == "disk"


def deleted_files_that_are_still_open_count(bench: Bench) -> None:
    ended, output = bench.shell(OPEN_AND_DELETED, limits=LIMITS)
    assert ended.reason == "disk", (ended, output)
