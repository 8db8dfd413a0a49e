"""Other libraries' interfaces over the encoder, one file per library."""
