"""Started by a launcher that Voyageur knows nothing of: here `env`, which sets a variable."""

import os

print(f"node {os.environ['MY_NODE']} of {os.environ['MY_NODES']}, the first is {os.environ['MY_HEAD']}", flush=True)
