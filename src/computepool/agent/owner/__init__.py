"""Owner first: what the machine's owner allows, what the machine shows of its owner, and what follows from both.

Policy in, signals in, one pure decision out (`decide`); `OwnerWatch` keeps it fresh. Never touches a job: whoever holds
the jobs acts on the decision.
"""
