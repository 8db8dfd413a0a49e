"""Sentence encoders of others, as encoders."""
