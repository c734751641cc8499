"""Owns: what a slice needs, which node could run it (feasibility), and later what it costs. Pure functions.

Uses: the job spec and capacities of the protocol. Never: reads the database, the clock or a connection.
"""
