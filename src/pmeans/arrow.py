"""Tables in memory: an Arrow batch in, the same batch with vectors or labels beside it out."""

from pmeans.jobs.batches import embed, open_classifier, open_encoder, predict

__all__ = ["embed", "open_classifier", "open_encoder", "predict"]
