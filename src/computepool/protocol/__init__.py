"""What crosses a process: job spec, manifest, receipt, agent messages, states, errors.

Pure: no I/O, no clock, no randomness. Everything else may import it; it imports only pydantic and cryptography.
"""
