"""What sightings mean for this site, this plan and this command: one file for each kind of question."""
