"""A renter, or the renter's bank, wants money back: what operators look at, what they decide, and who pays for it."""
