"""Credits: double entry, whole micros, never changed. Accounts, entries, balances and holds; no prices, no jobs."""
