"""Word spaces: what they are, how they are kept, read, changed and found."""
