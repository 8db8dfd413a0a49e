"""TF-IDF: words counted, rare ones more."""
