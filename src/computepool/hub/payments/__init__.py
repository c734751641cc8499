"""Real money, in and out, behind one interface: by hand, or through Stripe. Never sees a card; posts to the ledger only
what the processor says happened.
"""
