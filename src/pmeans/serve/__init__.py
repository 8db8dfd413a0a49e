"""The model over HTTP: OpenAI's and TEI's requests, the classifier, search (the extra ``[serve]``).

`service` computes answers and knows no HTTP; `tei` has those that only TEI's clients ask for, and
`custom_parts` its encoder of other spaces and powers. `inputs` reads what a request says, `limits`
refuses what is too much of one, `traffic` what is too much of all, and `refusals` are errors as
clients read them. `routes` is the one table of what there is; `application` serves it to whom
`access` lets in, and `openapi` describes it. `observed` stands around it for those who operate it,
with `metrics` and the access log. `page_files` are the page at ``/``. `server` is one process, with
`connections` that do not wait for ever; `processes` runs one or several, and `notify` tells
systemd.
"""

import typing

from pmeans.serve.limits import Limits

if typing.TYPE_CHECKING:
    from pmeans.serve.service import Settings

__all__ = ["Limits", "Settings"]


def __getattr__(name: str) -> typing.Any:
    if name != "Settings":
        raise AttributeError(f"module 'pmeans.serve' has no attribute {name!r}")
    from pmeans.serve.service import Settings

    return Settings
