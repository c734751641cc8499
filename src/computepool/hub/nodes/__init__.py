"""Owns: nodes, their keys and states, and the tokens that machines join with.

Uses: accounts (whose a node is). Never: talks to an agent; that is the gateway's.
"""
