"""Datasets on this side: packed, looked at, unpacked. How they are read is in `job.data`."""
