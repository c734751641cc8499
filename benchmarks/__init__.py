"""What the pool costs, measured beside the least that any pool could cost: `./dev bench [name]`.

Each benchmark is a module with `run(options)`, which measures and returns plain data, and `tables(data)`, which shows
that data: on the terminal after a run, and in docs/benchmarks.md. Numbers are never asserted here; targets are shown.
"""
