"""Owns: what is known of a node's past: its reliability, quarantine, capped claims, uptime, and whether it is verified.

Uses: nodes, the market's `Standing`, core. Never: places work, or decides what an end means; verdicts come from jobs.
"""
