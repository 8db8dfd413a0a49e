"""The layouts that tasks are published in, one a file; each reads files into labelled rows."""
