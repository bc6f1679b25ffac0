"""Datasets: packing against GNU tar, reading against plain files, h5py, LMDB and WebDataset."""
