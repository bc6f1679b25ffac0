"""What a cluster is asked besides its jobs. A question that gets no answer leaves nothing known, and is no error."""
