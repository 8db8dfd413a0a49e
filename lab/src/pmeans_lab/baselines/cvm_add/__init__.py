"""CVM-add: sums of word vectors that lie near those of translations."""
