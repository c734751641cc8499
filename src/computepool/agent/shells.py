"""The command for a text of the spec: which shell there is, only the inside of the sandbox or the image knows."""

from computepool.protocol.shell import Shell

STRICT = 'command -v bash >/dev/null 2>&1 && exec bash -eo pipefail -c "$1"; exec sh -ec "$1"'
PLAIN = 'command -v bash >/dev/null 2>&1 && exec bash -c "$1"; exec sh -c "$1"'
_SCRIPTS = {Shell.STRICT: STRICT, Shell.PLAIN: PLAIN}


def in_shell(argv: tuple[str, ...], shell: Shell | None) -> tuple[str, ...]:
    """`argv` is a text as the manifest has it (`sh -c TEXT`), or, without a shell, a program with its arguments."""
    if shell is None or argv[:2] != ("sh", "-c") or len(argv) != 3:
        return argv
    return ("sh", "-c", _SCRIPTS[shell], "sh", argv[2])
