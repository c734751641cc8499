"""The address of a hub, as people write it."""

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def with_scheme(address: str) -> str:
    """`pool.example.org` means https: tokens travel there. Only this machine itself is reached without."""
    text = address.strip()
    if "://" in text:
        return text
    place = text.split("/", 1)[0]
    host = place[1:].split("]", 1)[0] if place.startswith("[") else place.rsplit(":", 1)[0]
    return f"{'http' if host in LOCAL_HOSTS else 'https'}://{text}"
