"""The evidence beside pmeans: tasks, protocols, experiments, and the paper's tables."""
