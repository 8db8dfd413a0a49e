"""Write the claims of the paper, and what they came to, into README.md of the laboratory.

    python studies/claims.py

What stands between the two comments of the page is made from results/claims.toml and the store.
"""

from pathlib import Path

from pmeans_lab.experiments.claims import Book, Claims, page

LAB = Path(__file__).parent.parent
PAGE = LAB / "README.md"
BEGIN, END = "<!-- the claims, by studies/claims.py -->\n", "<!-- end of the claims -->\n"


def rendered() -> str:
    """Return the page with its claims made anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    results = LAB / "results"
    claims = page(Claims.from_toml(results / "claims.toml"), Book(LAB / "experiments", results))
    return f"{before}{BEGIN}\n{claims}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
