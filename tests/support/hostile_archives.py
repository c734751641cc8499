"""Archives that try to get out, to fill the machine, or to confuse whoever reads them: one function a family."""

import gzip
import os
import stat
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from support.archives import (
    LEVELS_ABOVE,
    Arena,
    Member,
    ZipEntry,
    file,
    folder,
    hardlink,
    make_zip,
    padded,
    pax_record,
    pax_tar,
    raw_header,
    raw_zip,
    symlink,
    tar,
    tar_gz,
    tar_member,
)

Writer = Callable[[list[Member]], bytes]
TAR_WRITERS: dict[str, Writer] = {"tar": tar, "tar.gz": tar_gz, "pax": pax_tar}
WRITERS: dict[str, Writer] = {**TAR_WRITERS, "zip": make_zip}


@dataclass(frozen=True)
class Hostile:
    """An archive that wants something it must not get."""

    name: str
    content: bytes
    reasons: frozenset[str]
    """How it may be refused; empty when it is harmless and unpacked."""
    members: tuple[Member, ...] = ()
    writer: Writer | None = None
    stays_in_arena: bool = True
    """Even when it succeeds, so that a careless program can be shown to fall for it without harm."""

    def build(self, arena: Arena) -> bytes:
        """Paths may name places of the arena in braces."""
        if self.writer is None:
            return self.content
        return self.writer([_placed(member, arena) for member in self.members])


def _placed(member: Member, arena: Arena) -> Member:
    name, link = member.name, member.link
    for word, place in ((b"{root}", arena.root), (b"{box}", arena.box), (b"{target}", arena.target)):
        name, link = name.replace(word, os.fsencode(place)), link.replace(word, os.fsencode(place))
    return replace(member, name=name, link=link)


def _cases(
    name: str, members: list[Member], reasons: set[str], writers: dict[str, Writer], *, stays_in_arena: bool = True
) -> Iterator[Hostile]:
    for form, writer in writers.items():
        yield Hostile(f"{form}-{name}", b"", frozenset(reasons), tuple(members), writer, stays_in_arena)


def path_tricks() -> Iterator[Hostile]:
    relative = [
        "..",
        "../",
        "a/..",
        "a/../..",
        "./../escape",
        "a/b/../../../escape",
        "a/../../canary.txt",
        "../target/x",
    ]
    relative += ["../" * depth + "escape" for depth in (1, 2, 3, 5, 8, 10)]
    relative += ["../canaries/inner.txt", "a/./../../escape", "..//escape", "x/" * 20 + "../" * 21 + "escape"]
    for number, path in enumerate(relative):
        forms = TAR_WRITERS if path.endswith("/") else WRITERS  # in a zip that is a folder
        yield from _cases(f"path-{number}", [file(path)], {"outside"}, forms)
    absolute = ["{root}/escape", "/{root}/escape", "{box}/canary.txt", "//{box}/escape", "{target}/x"]
    for number, path in enumerate(absolute):
        yield from _cases(f"absolute-{number}", [file(path)], {"outside"}, WRITERS)
    for number, path in enumerate(["../made", "../../made/deep", "{box}/made"]):
        yield from _cases(f"folder-{number}", [folder(path)], {"outside"}, WRITERS)


def link_tricks() -> Iterator[Hostile]:
    ways_out = ["..", "../..", "{box}", "/", "{target}/..", "../canaries", "./..", "a/../..", "../target/..", ".//.."]
    for number, way in enumerate(ways_out):
        through = [symlink("out", way), file("out/escape")]
        yield from _cases(
            f"write-through-{number}", through, {"link_outside", "duplicate"}, WRITERS, stays_in_arena=way != "/"
        )
        alone = [file("a"), symlink("out", way)]
        yield from _cases(f"link-{number}", alone, {"link_outside"}, WRITERS)
    over = [("../canary.txt", "f"), ("{box}/canary.txt", "f"), ("../canaries/inner.txt", "d/../f")]
    for number, (way, name) in enumerate(over):
        members = [symlink("f", way), file(name)]
        yield from _cases(f"write-over-link-{number}", members, {"link_outside", "outside"}, WRITERS)
    for depth in (1, 2, 4, 8, 16, 40, 100):
        for name, trick in (("chain", chain), ("nested-dots", dots)):
            members = trick(depth)
            near = depth < LEVELS_ABOVE
            yield from _cases(f"{name}-{depth}", members, {"link_outside"}, WRITERS, stays_in_arena=near)
    yield from _cases("inside-write-through", inside_through(), {"duplicate"}, WRITERS)
    yield from _cases("loop", [symlink("a", "b"), symlink("b", "a"), file("a/x")], {"duplicate"}, WRITERS)
    yield from _cases("link-as-top", [symlink(".", ".."), file("x")], {"bad_name"}, WRITERS)
    yield from _cases("empty-link", [symlink("a", "")], {"bad_link"}, TAR_WRITERS)
    yield from _cases("long-link", [symlink("a", "b/" * 3000)], {"name_too_long"}, WRITERS)
    yield from _cases("long-name-in-link", [symlink("a", "b/" + "c" * 256)], {"name_too_long"}, WRITERS)


def chain(depth: int) -> list[Member]:
    """Each link is one step up by way of the one before; only the whole chain gets out."""
    steps = [symlink("step0", ".")]
    steps += [symlink(f"step{number}", f"step{number - 1}/..") for number in range(1, depth + 1)]
    return [*steps, file(f"step{depth}/escape")]


def dots(depth: int) -> list[Member]:
    """A link to its own folder, walked often and then left by `..`: by the letter inside, in truth far outside."""
    place = "p/q/r"
    return [
        folder(place),
        symlink(f"{place}/self", "."),
        symlink("out", f"{place}/" + "self/" * depth + "../" * (depth + 3)),
        file("out/escape"),
    ]


def inside_through() -> list[Member]:
    return [folder("real"), symlink("alias", "real"), file("alias/x")]


def hardlink_tricks() -> Iterator[Hostile]:
    for number, way in enumerate(["../canary.txt", "{box}/canary.txt", "../canaries/inner.txt", "a/../../canary.txt"]):
        members = [hardlink("mine", way), file("mine")]
        yield from _cases(f"hardlink-{number}", members, {"outside"}, TAR_WRITERS)
    over_link = [symlink("s", "../canary.txt"), hardlink("mine", "s"), file("mine")]
    yield from _cases("hardlink-to-symlink", over_link, {"link_outside"}, TAR_WRITERS)
    inner = [symlink("s", "later"), hardlink("mine", "s")]
    yield from _cases("hardlink-to-inner-symlink", inner, {"bad_link"}, TAR_WRITERS)
    yield from _cases("hardlink-to-nothing", [hardlink("a", "b/c")], {"bad_link"}, TAR_WRITERS)
    below = [file("b"), hardlink("a", "b/c")]
    yield from _cases("hardlink-below-file", below, {"bad_link"}, TAR_WRITERS)
    yield from _cases("hardlink-to-folder", [folder("d"), hardlink("a", "d")], {"bad_link"}, TAR_WRITERS)
    yield from _cases("hardlink-to-itself", [hardlink("a", "a")], {"bad_link"}, TAR_WRITERS)
    twice = [file("a"), hardlink("b", "a"), file("b", b"other")]
    yield from _cases("write-over-hardlink", twice, {"duplicate"}, TAR_WRITERS)


def special_tricks() -> Iterator[Hostile]:
    for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE):
        member = Member(b"dev/special", kind=kind)
        yield from _cases(f"special-{kind.decode()}", [member], {"special_file"}, WRITERS)
    yield Hostile("zip-socket", raw_zip([ZipEntry(b"s", mode=stat.S_IFSOCK | 0o644)]), frozenset({"special_file"}))
    for mode in (0o4755, 0o2755, 0o6777, 0o1777, 0o000, 0o7777):
        yield from _cases(f"mode-{mode:o}", [file("bin/tool", b"#!", mode)], set(), WRITERS)


def name_tricks() -> Iterator[Hostile]:
    harmless = [b"CON", b"aux.txt", b"a\nb", b"\x1b]0;title\x07", b"-rf", b"~", b"$HOME", b"`id`", b" ", b"...", b"a:b"]
    harmless += ["\u202etxt.exe".encode(), b"x" * 255, b"/".join([b"d"] * 63) + b"/f"]
    for number, name in enumerate(harmless):
        yield from _cases(f"name-{number}", [file(name)], set(), WRITERS)
    bad = [(b"x" * 256, "name_too_long"), (b"d/" * 511 + b"abc", "name_too_long"), (b"d/" * 64 + b"f", "too_deep")]
    bad += [(b"d/" * 5000 + b"f", "name_too_long"), ((b"y" * 200 + b"/") * 30 + b"f", "name_too_long")]
    bad += [(b"f/", "bad_name"), (b".", "bad_name")]
    for number, (name, reason) in enumerate(bad):
        forms = WRITERS if not name.endswith(b"/") else TAR_WRITERS
        yield from _cases(f"bad-name-{number}", [file(name)], {reason}, forms)
    for name in (b"a\0b", b"../x\0", b"x\0/../../escape"):
        reasons = {"bad_name", "outside"}
        yield from _cases(f"nul-{name.hex()}", [file(name)], reasons, {"pax": pax_tar, "zip": make_zip})
    yield from _cases("nul-link", [symlink("a", b"b\0c")], {"bad_link"}, {"pax": pax_tar, "zip": make_zip})
    yield from _cases("empty-name", [file(b"")], {"bad_name"}, WRITERS)
    yield from _cases("not-utf-8", [file(b"caf\xe9")], set(), TAR_WRITERS)
    windows = [b"C:\\Windows\\x", b"..\\..\\escape", b"\\\\server\\share", b"a\\b"]
    for number, name in enumerate(windows):
        yield from _cases(f"backslash-{number}", [file(name)], set(), TAR_WRITERS)
        yield from _cases(f"backslash-{number}", [file(name)], {"bad_name"}, {"zip": make_zip})
    yield from _cases("case", [file("README"), file("readme"), folder("A"), file("a/b")], set(), WRITERS)


def duplicate_tricks() -> Iterator[Hostile]:
    pairs = {
        "file-file": [file("a"), file("a", b"again")],
        "file-dotted": [file("a"), file("./a")],
        "file-folder": [file("a"), folder("a")],
        "folder-file": [folder("a"), file("a")],
        "file-below-file": [file("a"), file("a/b")],
        "link-link": [symlink("a", "b"), symlink("a", "c")],
        "link-file": [symlink("a", "b"), file("a")],
        "file-link": [file("a"), symlink("a", "b")],
        "link-folder": [symlink("a", "b"), folder("a")],
    }
    for name, members in pairs.items():
        yield from _cases(f"twice-{name}", members, {"duplicate"}, WRITERS)
    yield from _cases("twice-folder-folder", [folder("a"), folder("a/"), file("a/b")], set(), WRITERS)


def realpath_overflow() -> list[Member]:
    """CVE-2025-4517: links whose resolved path grows beyond what realpath follows, so that a check by path passes."""
    long = "d" * 247
    members: list[Member] = []
    path = ""
    for step in "abcdefghijklmnop":
        members += [folder(path + long), symlink(path + step, long)]
        path += long + "/"
    short = "/".join("abcdefghijklmnop") + "/" + "l" * 254
    members.append(symlink(short, "../" * 16))
    members.append(symlink("escape", short + "/../../../..{box}"))
    return [*members, hardlink("flag", "escape/canary.txt"), file("flag")]


def overflow_tricks() -> Iterator[Hostile]:
    reasons = {"name_too_long", "link_outside", "too_deep", "duplicate", "outside"}
    yield from _cases("cve-2025-4517", realpath_overflow(), reasons, TAR_WRITERS)
    # 2025-4330: a target that is fine as written, but not from the folder that the link really lies in.
    moved = [folder("a"), symlink("b", "a"), symlink("b/c", ".."), file("b/c/../escape")]
    yield from _cases("cve-2025-4330", moved, {"duplicate", "outside"}, TAR_WRITERS)
    # 2025-4138: the check strips a trailing slash or an odd part, the kernel does not.
    for number, way in enumerate(["x/../../", "./x/..//../", "x/./../.."]):
        members = [symlink("l", way), file("l/escape")]
        yield from _cases(f"cve-2025-4138-{number}", members, {"link_outside"}, TAR_WRITERS)


def header_tricks() -> Iterator[Hostile]:
    cases: dict[str, tuple[bytes, set[str]]] = {
        "negative-size": (raw_header(b"a", b"\xff" * 12), {"corrupt"}),
        "minus-size": (raw_header(b"a", b"-0000000001\0"), {"corrupt"}),
        "vast-size": (raw_header(b"a", b"\x80" + b"\xff" * 11), {"truncated"}),
        "vast-pax": (raw_header(b"a", b"\x80" + b"\xff" * 11, kind=b"x"), {"name_too_long"}),
        "vast-long-name": (raw_header(b"a", b"\x80" + b"\x7f" * 11, kind=b"L"), {"name_too_long"}),
        "gnu-sparse": (raw_header(b"a", 512, kind=b"S") + bytes(512), {"sparse_file"}),
        "unknown-type": (raw_header(b"a", 0, kind=b"Z"), {"unsupported"}),
        "volume-label": (raw_header(b"a", 0, kind=b"V"), {"unsupported"}),
        "folder-with-content": (raw_header(b"a", 512, kind=b"5") + bytes(512), {"corrupt"}),
        "link-with-content": (raw_header(b"a", 512, kind=b"2", link=b"b") + bytes(512), {"corrupt"}),
        "wrong-checksum": (raw_header(b"a", 0)[:148] + b"0000001\0" + raw_header(b"a", 0)[156:], {"not_an_archive"}),
        "odd-mode": (raw_header(b"a", 0, mode=b"rwxrwxrw"), {"corrupt"}),
        "header-without-entry": (_pax(pax_record(b"path", b"x")), {"corrupt"}),
    }
    pax = {
        "pax-sparse": (pax_record(b"GNU.sparse.major", b"1") + pax_record(b"GNU.sparse.minor", b"0"), {"sparse_file"}),
        "pax-size-larger": (pax_record(b"size", b"99999999999"), {"truncated"}),
        "pax-size-negative": (pax_record(b"size", b"-1"), {"corrupt"}),
        "pax-size-digits": (pax_record(b"size", b"9" * 5000), {"corrupt"}),
        "pax-length-zero": (b"0 path=x\n", {"corrupt"}),
        "pax-length-long": (b"999 path=x\n", {"corrupt"}),
        "pax-length-missing": (b"path=x\n", {"corrupt"}),
        "pax-digits-only": (b"1" * 60_000, {"corrupt"}),
        "pax-no-equals": (b"8 pathx\n", {"corrupt"}),
        "pax-charset": (pax_record(b"hdrcharset", b"BINARY") + pax_record(b"path", b"../escape"), {"outside"}),
    }
    for name, (records, reasons) in pax.items():
        cases[name] = (_pax(records) + raw_header(b"a", 4) + padded(b"data"), reasons)
    cases["pax-global-path"] = (_pax(pax_record(b"path", b"../x"), b"g") + raw_header(b"a", 0), {"unsupported"})
    cases["pax-over-long-name"] = (
        tar_member(file("n" * 150)) + _pax(pax_record(b"path", b"../escape")) + raw_header(b"a", 0), {"outside"}
    )  # fmt: skip
    for name, (content, reasons) in cases.items():
        yield Hostile(f"tar-{name}", content + bytes(1024), frozenset(reasons))
        packed = {"corrupt" if reason == "not_an_archive" else reason for reason in reasons}
        yield Hostile(f"tar.gz-{name}", gzip.compress(content + bytes(1024), 1, mtime=0), frozenset(packed))


def _pax(records: bytes, kind: bytes = b"x") -> bytes:
    return raw_header(b"pax", len(records), kind=kind) + padded(records)


def zip_tricks() -> Iterator[Hostile]:
    content = b"content " * 64
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = bomb.compress(bytes(1 << 20)) + bomb.flush()
    cases: dict[str, tuple[list[ZipEntry], str]] = {
        "encrypted": ([ZipEntry(b"a", content, flags=0x0801)], "encrypted"),
        "encrypted-local": ([ZipEntry(b"a", content, local_flags=0x0801)], "encrypted"),
        "strong-encryption": ([ZipEntry(b"a", content, flags=0x0841)], "encrypted"),
        "masked-directory": ([ZipEntry(b"a", content, flags=0x2800)], "encrypted"),
        "patch-data": ([ZipEntry(b"a", content, flags=0x0820)], "unsupported"),
        "smaller-than-said": ([ZipEntry(b"a", content, size=len(content) + 1)], "corrupt"),
        "larger-than-said": ([ZipEntry(b"a", content, size=1)], "corrupt"),
        "bomb-said-small": ([ZipEntry(b"a", packed=zeros, size=10, crc=0)], "corrupt"),
        "wrong-crc": ([ZipEntry(b"a", content, crc=1)], "corrupt"),
        "other-local-name": ([ZipEntry(b"a", content, local_name=b"../b")], "corrupt"),
        "overlap-same": ([ZipEntry(b"a", content), ZipEntry(b"b", content, offset=0)], "overlapping"),
        "offset-outside": ([ZipEntry(b"a", content), ZipEntry(b"b", offset=1 << 30)], "truncated"),
        "offset-into-data": ([ZipEntry(b"a", content, method=0), ZipEntry(b"b", offset=40)], "overlapping"),
        "packed-beyond-end": ([ZipEntry(b"a", content, method=0, packed_size=1 << 20)], "overlapping"),
        "lzma": ([ZipEntry(b"a", content, method=14)], "unsupported"),
        "unknown-method": ([ZipEntry(b"a", content, method=99)], "unsupported"),
        "not-deflate": ([ZipEntry(b"a", content, packed=b"\xff" * 50)], "corrupt"),
        "cut-deflate": ([ZipEntry(b"a", content, packed=zeros[:20], size=1 << 20)], "truncated"),
        "behind-deflate": ([ZipEntry(b"a", bytes(1 << 20), packed=zeros + b"more")], "corrupt"),
        "zip64-missing": ([ZipEntry(b"a", content, size=0xFFFFFFFF)], "corrupt"),
        "zip64-vast": (
            [ZipEntry(b"a", content, size=0xFFFFFFFF, extra=struct.pack("<2HQ", 1, 8, 1 << 62))], "too_big"
        ),
        "zip64-cut": ([ZipEntry(b"a", content, size=0xFFFFFFFF, extra=struct.pack("<2H", 1, 0xFFFF))], "corrupt"),
        "not-utf-8": ([ZipEntry(b"caf\xe9", content)], "bad_name"),
        "folder-with-content": ([ZipEntry(b"a/", content)], "corrupt"),
        "folder-as-link": ([ZipEntry(b"a/", b"..", mode=stat.S_IFLNK | 0o777)], "corrupt"),
        "link-with-vast-target": ([ZipEntry(b"a", bytes(1 << 20), mode=stat.S_IFLNK | 0o777)], "name_too_long"),
    }  # fmt: skip
    for name, (entries, reason) in cases.items():
        yield Hostile(f"zip-{name}", raw_zip(entries), frozenset({reason}))
    for count, reason in ((0, "corrupt"), (2, "truncated"), (60_000, "too_many_entries"), (0xFFFF, "corrupt")):
        yield Hostile(
            f"zip-count-{count}",
            raw_zip([ZipEntry(b"a", content)], count=count),
            frozenset({reason, "corrupt"}),
        )
    yield Hostile("zip-behind-end", make_zip([file("a")]) + b"more", frozenset({"corrupt"}))
    yield Hostile("zip-no-end", make_zip([file("a")])[:-22], frozenset({"truncated"}))
    quoted = _quoted_overlap(content)
    yield Hostile("zip-overlap-quoted", quoted, frozenset({"overlapping"}))


def _quoted_overlap(content: bytes) -> bytes:
    """The dense kind of zip bomb: the data of the first entry holds the second entry, header and all."""
    inner = ZipEntry(b"b", content, method=0)
    outer = ZipEntry(b"a", inner.local(), method=0)
    inner.offset = len(outer.local()) - len(inner.local())
    return raw_zip([outer, inner])


def cut_tricks() -> Iterator[Hostile]:
    """Whole archives, cut at twenty places each, and with a damaged middle."""
    members = [folder("a"), file("a/one", b"1" * 700), file("a/two", os.urandom(3000)), symlink("a/three", "one")]
    for form, writer in WRITERS.items():
        whole = writer(members)
        meant = len(whole) if form in ("zip", "tar.gz") else len(whole) - 1024
        for step in range(1, 20):
            cut = whole[: meant * step // 20]
            yield Hostile(f"{form}-cut-{step}", cut, frozenset(CUT_REASONS))
    packed = bytearray(tar_gz(members))
    packed[len(packed) // 2] ^= 0xFF
    yield Hostile("tar.gz-damaged", bytes(packed), frozenset({"corrupt", "truncated"}))
    wrong = bytearray(tar_gz(members))
    wrong[-6] ^= 0xFF
    yield Hostile("tar.gz-wrong-crc", bytes(wrong), frozenset({"corrupt"}))
    yield Hostile("tar-hidden-tail", tar(members) + tar([file("late")]), frozenset({"corrupt"}))
    yield Hostile("tar.gz-junk-behind", tar_gz(members) + b"junk", frozenset({"corrupt"}))


CUT_REASONS = {"truncated", "corrupt", "not_an_archive"}


def other_formats() -> Iterator[Hostile]:
    others = {
        "empty": (b"", "not_an_archive"),
        "text": (b"#!/bin/sh\nrm -rf /\n", "not_an_archive"),
        "xz": (b"\xfd7zXZ\0" + bytes(600), "unsupported"),
        "bzip2": (b"BZh9" + bytes(600), "unsupported"),
        "zstd": (b"\x28\xb5\x2f\xfd" + bytes(600), "unsupported"),
        "gzip-of-text": (gzip.compress(b"hello " * 300), "corrupt"),
        "gzip-of-nothing": (gzip.compress(b""), "truncated"),
        "gzip-of-gzip": (gzip.compress(tar_gz([file("a", os.urandom(900))])), "corrupt"),
        "gzip-head-only": (b"\x1f\x8b\x08\x00", "truncated"),
        "gzip-endless-name": (b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 100_000, "truncated"),
    }
    for name, (content, reason) in others.items():
        yield Hostile(name, content, frozenset({reason}))


def all_hostile() -> list[Hostile]:
    families = (
        path_tricks, link_tricks, hardlink_tricks, special_tricks, name_tricks, duplicate_tricks, overflow_tricks,
        header_tricks, zip_tricks, cut_tricks, other_formats,
    )  # fmt: skip
    return [case for family in families for case in family()]
