"""The line to the hub: always opened from here, by WebSocket or by long poll, carrying the same messages."""
