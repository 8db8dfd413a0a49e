"""The model 'wide' of pmeans: data alone."""
