"""What the pool did, by day: totals of the whole pool, and what each owner's nodes did for others.

Owns the tables `daily_totals` and `work_days`. Reads jobs, attempts, nodes, users and the ledger. The landing page, the
leaderboard and the operators' overview and reports show it. Nothing is billed by it.
"""
