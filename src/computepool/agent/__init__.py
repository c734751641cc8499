"""The host's agent: takes offers from one hub over an outbound line, runs them sandboxed, proves what it did.

Owns everything on the node: its keys, its attempts and their folders, the log spool, the cache. Uses the protocol
alone; never imports the hub or the client, and needs no more than the light install.
"""
