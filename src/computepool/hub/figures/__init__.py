"""What the pool did, by day: roll-ups of jobs and of work for others, for the landing page and the leaderboard.

Owns the tables `job_days` and `work_days`. Uses jobs, nodes, payments and accounts. Never decides anything, and nothing
is billed by it: the ledger alone says what somebody earned.
"""
