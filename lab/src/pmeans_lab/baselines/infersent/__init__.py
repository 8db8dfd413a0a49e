"""InferSent: a BiLSTM with max-pooling, trained on inference, translations, or both."""
