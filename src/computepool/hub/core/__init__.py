"""What every feature stands on: settings, database, clock, ids, errors, events, audit.

Knows no feature. Only here is it decided whether the truth is SQLite or PostgreSQL.
"""
