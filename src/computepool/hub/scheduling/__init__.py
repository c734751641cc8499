"""Owns: the fleet and the queue in memory, who goes next to which node, and the leases' clock.

Uses: jobs (what waits, what ends), nodes, market (feasibility).
Never: writes to a socket; a node's line is given to it.
"""
