"""What a cluster is asked besides its jobs: accounts, quotas, what it is."""
