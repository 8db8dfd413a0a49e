"""The model over HTTP: OpenAI's and TEI's requests, the classifier, search (the extra ``[serve]``).

`service` computes answers and knows no HTTP; `chosen` is its encoder of other spaces and powers.
`inputs` reads what a request says, `limits` refuses what is too much of one, `traffic` what is too
much of all. `routes` is the one table of what there is; `application` serves it with `bodies` in
and out, and `openapi` describes it. `page_files` are the page at ``/``. `server` is one process,
with `connections` that do not wait for ever, and `processes` runs one or several.
"""

from pmeans.serve.limits import Limits
from pmeans.serve.service import Settings

__all__ = ["Limits", "Settings"]
