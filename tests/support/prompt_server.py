"""Uvicorn, ended when it is told to and not some tenths of a second later: hundreds of tests have one each."""

import asyncio
import socket

import uvicorn

TICK_SECONDS = 0.005


class PromptServer(uvicorn.Server):
    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:  # noqa: ASYNC110 another thread sets it
            await asyncio.sleep(TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """What runs is cut off, as with a process that is killed."""
        for server in self.servers:
            server.close()
        for each in sockets or []:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(TICK_SECONDS)
        for task in self.server_state.tasks:
            task.cancel()
        await asyncio.gather(*self.server_state.tasks, return_exceptions=True)
        for connection in list(self.server_state.connections):
            # One whose reader is slow would wait for it, and outlive the loop.
            connection.transport.abort()
        await asyncio.sleep(0)
