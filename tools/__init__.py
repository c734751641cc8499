"""Programs for this checkout's own upkeep. Not part of the distribution."""
