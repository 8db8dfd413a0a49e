"""Tell the language of each text, among those an encoder covers; needs the extra ``[lang]``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pmeans.errors import InputError


def identify(texts: Iterable[str], languages: Sequence[str]) -> list[str]:
    """Return the likeliest language of each text.

    Args:
        texts: What to tell the language of; of a few words, it is a guess.
        languages: The codes to choose among, as `PowerMeanEncoder.languages` lists them.
    """
    if len(languages) < 2:
        raise InputError(
            f"there is no language to choose: the encoder covers {', '.join(languages) or 'any'}. "
            "Name the language."
        )
    try:
        import py3langid
    except ImportError:
        raise InputError(
            "telling languages apart needs py3langid: pip install 'pmeans[lang]', or name the "
            "language, or the column that has it."
        ) from None
    try:
        py3langid.set_languages(list(languages))
        return [py3langid.classify(text)[0] for text in texts]
    except ValueError as error:
        raise InputError(f"py3langid cannot tell {', '.join(languages)} apart: {error}.") from error
    finally:
        py3langid.set_languages(None)  # the module has one set of languages for everybody
