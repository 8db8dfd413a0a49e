"""scikit-learn's idea of a classifier, kept without importing scikit-learn.

Its base class takes a second to import, and `pmeans classify` or a server needs nothing else of it.
So what it does is done here, in terms of scikit-learn's public interface: parameters, tags, and
requests for ``lang`` as metadata. `tests/unit/transfer/test_estimator.py` runs scikit-learn's own
checks over it.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from pmeans.errors import InputError, NotFittedError, did_you_mean, shown

Request = bool | str | None
"""Whether metadata is passed on, or under which name; None refuses it."""

_TAKE_LANG = ("fit", "predict", "predict_proba", "decision_function", "score")


class Estimator:
    """A classifier of text whose parameters are the arguments of ``__init__``, stored as given."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; none has parameters of its own, so ``deep`` is idle."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they are checked when they are used."""
        known = list(inspect.signature(type(self)).parameters)
        for name, value in params.items():
            if name not in known:
                raise InputError(
                    f"no parameter {shown(name)}.{did_you_mean(name, known)} "
                    f"There are {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not usual[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def get_metadata_routing(self) -> Any:
        """Return which methods ask for ``lang``, as scikit-learn's ``MetadataRequest``."""
        from sklearn.utils.metadata_routing import MetadataRequest

        # `clone` looks for it by this name.
        request = vars(self).get("_metadata_request")
        if request is None:
            request = MetadataRequest(owner=type(self).__name__)
            for method in _TAKE_LANG:
                getattr(request, method).add_request(param="lang", alias=None)
        return request

    def set_fit_request(self, *, lang: Request) -> Self:
        """Ask for ``lang`` in `fit`, as scikit-learn's guide to metadata routing says."""
        return self._request("fit", lang)

    def set_predict_request(self, *, lang: Request) -> Self:
        """Ask for ``lang`` in `predict`."""
        return self._request("predict", lang)

    def set_predict_proba_request(self, *, lang: Request) -> Self:
        """Ask for ``lang`` in `predict_proba`."""
        return self._request("predict_proba", lang)

    def set_decision_function_request(self, *, lang: Request) -> Self:
        """Ask for ``lang`` in `decision_function`."""
        return self._request("decision_function", lang)

    def set_score_request(self, *, lang: Request) -> Self:
        """Ask for ``lang`` in `score`."""
        return self._request("score", lang)

    def _request(self, method: str, lang: Request) -> Self:
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "metadata is not routed: sklearn.set_config(enable_metadata_routing=True) first."
            )
        self._metadata_request = self.get_metadata_routing()
        getattr(self._metadata_request, method).add_request(param="lang", alias=lang)
        return self


def not_fitted() -> NotFittedError:
    """Return the error of a classifier without `fit`, which is scikit-learn's as well."""
    from sklearn.exceptions import NotFittedError as OfSklearn

    kind = type("NotFittedError", (NotFittedError, OfSklearn), {"__module__": "pmeans.errors"})
    return kind("this classifier has learned nothing yet: call fit first.")
