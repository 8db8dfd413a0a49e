"""Languages: their codes, how their text is split, and which one a text is in."""
