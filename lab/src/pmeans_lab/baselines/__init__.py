"""Encoders that power means are compared with, each beside its trainer."""
