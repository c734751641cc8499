import os
import sys

from computepool.agent.benchmark.worker import be_modest, serve

# Libraries print what they like: the answers have a way of their own.
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
be_modest()
serve(sys.stdin.buffer, answers)
