"""Libraries that pmeans plugs into: imported by the test that needs them, as they start slowly."""

from types import ModuleType

import pytest

EN = [
    "The children are playing in the garden.",
    "The government will raise taxes next year.",
    "My brother bought a new car yesterday.",
    "The soup was far too salty for me.",
]
DE = [
    "Die Kinder spielen im Garten.",
    "Die Regierung wird nächstes Jahr die Steuern erhöhen.",
    "Mein Bruder hat gestern ein neues Auto gekauft.",
    "Die Suppe war mir viel zu salzig.",
]


def library(name: str, extra: str = "integrations") -> ModuleType:
    """Import a library, or skip the test and say how to install it."""
    return pytest.importorskip(name, reason=f"pip install 'pmeans[{extra}]'")
