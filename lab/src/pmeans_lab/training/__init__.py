"""Trainers that the paper compares, and that no shipped model needs."""
