"""History: how nodes, attempts and the pool did over time, as numbers in buckets of a fixed step.

Owns the table `history` and the samples that are not stored yet. Uses core. Never decides anything: scheduling, billing
and reputation do not read it.
"""
