"""Explanations as one small HTML page: the sentences as they were written, each word coloured.

The page stands alone: no script, no font, no link. Blue pushes towards the label and orange away
from it, a pair that all common kinds of colour vision tell apart; a dotted line under the orange
words says the same without colour, and the number is in each word's title. Everything that
comes from the text or the model is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pmeans.transfer.explain import Explanation, TokenPush

STYLE = """\
.sentence { margin: .3rem 0; font-size: 1.15rem; line-height: 2; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.towards, .away { border-radius: .2em; padding: .1em 0; }
.towards { background: rgb(var(--towards) / var(--push)); }
.away { background: rgb(var(--away) / var(--push)); border-bottom: 2px dotted; }
.unknown { color: var(--quiet); }
"""
"""Rules for what `sentence_html` and `KEY` return. A page sets --towards, --away and --quiet."""

KEY = """\
<p class="key"><span class="towards" style="--push: .5">towards the class</span>
<span class="away" style="--push: .5">away from it</span>
<span class="unknown">unknown word</span></p>
"""
"""What the colours mean, as a paragraph."""

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Which words pushed the decision</title>
<style>
:root { color-scheme: light dark; --page: #fff; --ink: #1a1a1a; --quiet: #6b6b6b;
  --towards: 33 102 200; --away: 224 110 10; }
@media (prefers-color-scheme: dark) { :root { --page: #161616; --ink: #eee; --quiet: #9a9a9a;
  --towards: 70 140 240; --away: 220 110 20; } }
body { margin: 2rem auto; max-width: 46rem; padding: 0 1rem; background: var(--page);
  color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
section { margin: 2rem 0; }
.verdict, .key { margin: 0; color: var(--quiet); font-size: .85rem; }
STYLE</style>
</head>
<body>
KEYSECTIONS
</body>
</html>
"""

STRONGEST = 0.6
"""Opacity of a sentence's strongest word: more would hide the letters."""


def as_html(explanations: Sequence[Explanation]) -> str:
    """Return a whole page with one paragraph of coloured words an explanation.

    Colours are relative to the strongest word of each sentence: a word among thirty pushes less
    than one among three, and would be invisible on a common scale.
    """
    sections = "\n".join(map(_section, explanations))
    page = _PAGE.replace("STYLE", STYLE).replace("KEY", KEY).replace("SECTIONS", sections)
    return page.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair has no UTF-8


def sentence_html(explanation: Explanation) -> str:
    """Return the sentence alone, as a paragraph of coloured words for a page with `STYLE`."""
    pushes = [abs(token.contribution) for token in explanation.tokens]
    strongest = max(pushes, default=0) or 1.0
    pieces = []
    end = 0
    for token in explanation.tokens:
        pieces += [escape(explanation.sentence[end : token.start]), _word(token, strongest)]
        end = token.end
    pieces.append(escape(explanation.sentence[end:]))
    lang = escape(explanation.lang)
    return f'<p class="sentence" dir="auto" lang="{lang}">{"".join(pieces)}</p>\n'


def _section(explanation: Explanation) -> str:
    verdict = escape(explanation.verdict())
    return f'<section>\n<p class="verdict">{verdict}</p>\n{sentence_html(explanation)}</section>'


def _word(token: TokenPush, strongest: float) -> str:
    text = escape(token.text)
    if not token.known:
        return f'<span class="unknown" title="unknown word">{text}</span>'
    side = "away" if token.contribution < 0 else "towards"
    push = STRONGEST * abs(token.contribution) / strongest
    return (
        f'<span class="{side}" style="--push: {push:.3f}" title="{token.contribution:+.3f}">'
        f"{text}</span>"
    )
