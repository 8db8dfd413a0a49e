"""Train in one language, apply in another."""
