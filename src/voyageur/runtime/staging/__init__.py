"""Datasets on their way to the node's own disk, and results on their way back.

wanted     what the plan asks for, as the job script hands it on
look       what a dataset is: pack, tar, zip, image, folder, file; its size
cargo      its files, cut into chunks that travel and are verified one by one
hold       the private folder on the node that it arrives in
carry      brings all chunks there: from the node above in the tree, else from shared storage
network    how nodes hand chunks to each other
process    the process that does it, one a node; the program need not wait for it
aboard     what a task of the run does: asks for its datasets, waits where it must, knows their paths
"""
