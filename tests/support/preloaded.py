"""Imported last by the fork server: what the programs have loaded before they are forked is not looked at for garbage.

A hub collects all garbage as it starts, and every program now and then. Without `freeze` each child would look through
some hundred thousand objects of its imports, and copy their pages.
"""

import gc

gc.collect()
gc.freeze()
