"""Owns: stored bytes (bundles, inputs, outputs, logs), where they are kept, and the signed URLs to them.

Uses: accounts (whose an artifact is). Never: knows what a job is; an attempt's id is only a name here.
"""
