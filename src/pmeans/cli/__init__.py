"""The command line, one file per group of commands: parsing and printing, no logic.

Data goes to standard output or a file, words for people to standard error, a progress bar to a
terminal only. Modules here import typer and the standard library alone; what a command needs
beyond that, it imports when it runs, so that ``pmeans --version`` answers at once.
"""
