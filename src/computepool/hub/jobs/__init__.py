"""Owns: jobs, their slices and attempts; the verdict of an attempt and what follows from it.

Uses: artifacts (bundles, outputs, logs), market (requirements), accounts (who sees what).
Never: chooses a node (scheduling does) or speaks to an agent (the gateway does).
"""
