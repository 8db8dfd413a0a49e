"""The layouts that tasks are published in; each reads files into labelled rows."""
