"""How busy a node is, told to its owner as its agent tells it."""

from computepool.hub.live.feed import Feed
from computepool.hub.scheduling.fleet import Fleet
from computepool.protocol.events import NodeLoadMessage
from computepool.protocol.messages import NodeReport


class Loads:
    def __init__(self, fleet: Fleet, feed: Feed) -> None:
        self._fleet = fleet
        self._feed = feed

    def show(self, node_id: str, report: NodeReport) -> None:
        """To whoever follows the events of the node's owner now."""
        node = self._fleet.get(node_id)
        readers = self._feed.readers_of(f"host/{node.traits.owner_id}") if node is not None else set()
        if readers:
            text = NodeLoadMessage(node_id=node_id, gpus=report.gpus).model_dump_json()
            for reader in readers:
                reader.show(f"load/{node_id}", text)
