"""What operators look at and change: reports, settings with their history, the audit search, and the queue of what
needs a person. Uses every feature's tables, only to read them; writes settings."""
