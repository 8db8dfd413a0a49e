"""From an experiment's TOML to rows of results, tables and figures."""
