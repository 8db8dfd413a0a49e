"""``python -m pmeans`` is the program ``pmeans``."""

from pmeans.cli.main import main

main()
