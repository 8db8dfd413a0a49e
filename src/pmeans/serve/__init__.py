"""The model over HTTP: OpenAI's and TEI's requests, the classifier, search (the extra ``[serve]``).

`service` computes answers and knows no HTTP. `inputs` reads what a request says, `limits` refuses
what is too much. `routes` is the one table of what there is; `application` serves it, and
`openapi` describes it. `processes` runs it, with `connections` that do not wait for ever.
"""

from pmeans.serve.limits import Limits
from pmeans.serve.service import Settings

__all__ = ["Limits", "Settings"]
