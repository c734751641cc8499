"""Idle GPUs, behind any NAT, as one pool."""

__version__ = "0.1.0"
