"""Owns: what a slice needs, which node could run it (feasibility), what nodes ask, and the pool's tables of rates.

Uses: nodes (what hosts decided, what was measured). Never: a connection; the fleet stands above it.
"""
