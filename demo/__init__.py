"""What `make demo` runs: train on English sentences, apply to German and French ones, report.

`findings` trains, scores and looks inside, `report` makes the page of it, with the figures of
`svg`. The other files here are for the README and the documentation.
"""
