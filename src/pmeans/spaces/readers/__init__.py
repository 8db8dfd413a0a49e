"""Readers of foreign vector formats, one file each."""
