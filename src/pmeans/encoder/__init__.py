"""What turns text into rows: recipe, means, z-norm, maps, and what is known of each sentence."""
