"""Evaluation by the book: tasks, protocols, scores."""
