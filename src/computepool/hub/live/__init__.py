"""Event streams: what changed, told to each user in order, resumable by event id; and the pool's public figures.

Uses the outbox and what features record in it. Owns no table. Decides nothing: a reader that wants the truth asks the
API.
"""
