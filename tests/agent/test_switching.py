"""Promise 15: switching WebSocket ↔ long poll neither drops nor repeats a command."""

from collections import Counter

import pytest
from support.proofs import figure
from support.switching import play_switching


@pytest.mark.proof
def test_switching_links_neither_drops_nor_repeats_a_command():
    fired: Counter[str] = Counter()
    rounds, switches = figure(3, 50), figure(50, 100)
    for seed in range(rounds):
        seen, offered = play_switching(seed, switches)
        fired += seen
        assert offered >= switches // 2
    for fault in ("request_lost", "reply_lost", "sent_message_lost", "received_message_lost", "websocket_refused"):
        assert fired[fault] >= rounds, f"{fault} fired only {fired[fault]} times: {fired}"
