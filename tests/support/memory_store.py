"""A store in memory, for simulations and for property tests that put thousands of objects."""

from collections.abc import Iterable

from computepool.hub.artifacts.store import Entry, ObjectMissing, SignedPut, check_folder, check_key


class MemoryStore:
    """Outlives a hub that crashes: hand the same one to the next."""

    origin: str | None = None

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        self.objects[check_key(key)] = data if isinstance(data, bytes) else b"".join(data)

    def read(self, key: str, start: int, length: int) -> bytes:
        data = self.objects.get(check_key(key), b"")[start : start + length]
        if len(data) < length or key not in self.objects:
            raise ObjectMissing(key)
        return data

    def size(self, key: str) -> int | None:
        data = self.objects.get(check_key(key))
        return None if data is None else len(data)

    def delete(self, *keys: str) -> None:
        for key in keys:
            self.objects.pop(check_key(key), None)

    def list(self, prefix: str) -> list[Entry]:
        folder = check_folder(prefix) + "/"
        return [Entry(key, len(data)) for key, data in sorted(self.objects.items()) if key.startswith(folder)]

    def need_room(self, size_bytes: int) -> None:
        pass

    def prepare(self, prefix: str) -> None:
        pass

    def clear(self, prefix: str) -> None:
        self.delete(*[entry.key for entry in self.list(prefix)])

    def settle(self, prefix: str) -> None:
        pass

    def sign_put(self, key: str, size_bytes: int, digest: str, expires_seconds: int) -> SignedPut:
        return SignedPut(f"memory:{check_key(key)}")

    def sign_get(self, key: str, expires_seconds: int, filename: str | None = None) -> str:
        return f"memory:{check_key(key)}"
