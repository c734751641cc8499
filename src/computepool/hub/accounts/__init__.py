"""Who people are and what their tokens may do.

Owns users, sessions, personal access tokens, device logins. Uses core only. Never asks the database who a bearer is:
the directory knows it in memory, and hears of every revocation after its commit.
"""
