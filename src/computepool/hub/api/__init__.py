"""The hub's routes and what they show, one file per area: authorize, read or run, render.

Uses the engine and every feature. Nothing but `app` imports it. Owns no table and no loop.
"""
