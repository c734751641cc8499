"""Whether results are right: replicas, audits, canaries, what proves a node wrong, and what it has to give back."""
