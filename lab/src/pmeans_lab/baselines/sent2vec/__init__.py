"""Sent2Vec: means of words and word pairs that predict the words left out."""
