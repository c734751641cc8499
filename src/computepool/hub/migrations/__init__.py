"""The schema's history, one file a step, run by `hub migrate` and by `up`."""
