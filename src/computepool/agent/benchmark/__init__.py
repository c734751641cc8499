"""How fast this machine really is: measured for its owner, and proven to the hub.

The work is done by a process of its own (`python -m computepool.agent.benchmark`), which alone loads NumPy, PyTorch or
CuPy; `desk` starts it, passes the hub's questions on, and ends it when a job comes or the owner returns.
"""
