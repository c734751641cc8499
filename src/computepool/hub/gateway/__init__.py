"""Owns: the agents' connections, from the first hello to every report, over a WebSocket or by long poll.

Uses: scheduling (fleet, leases), jobs (what reports mean), artifacts (logs, outputs). Never: decides who gets work.
"""
