"""What a machine shows of its owner, one file each. Every signal returns a reading or `Unknown`, and raises nothing.

They may block for a moment: `OwnerWatch` calls them off the event loop. Files are looked for below `Machine.root` and
tools on `Machine.path`, so that tests bring their own.
"""
