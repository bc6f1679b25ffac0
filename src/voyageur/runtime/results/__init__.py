"""Results on their way back from the node's own disk.

find      which files are meant: patterns, below the program's folder and the temp folder
bin       where they come to: a few archives for each node, and a manifest with the checksum of each file
saving    when: on a timer, at the warning, at a stop, at the end; in a process of its own while the program runs
keeping   what becomes of them when there is no room at home
"""
