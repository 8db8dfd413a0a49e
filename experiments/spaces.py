"""Install the word spaces that the experiments call available, from a folder of vector files.

    python experiments/spaces.py FOLDER

The folder has ``glove-6b-100d.en`` and ``googlenews-w2v-300d.en`` as ``.f16.npy`` with
``.words.txt``. The subset of GoogleNews looks words up in lower case where it lacks the cased
form. Its vectors were scaled to length 1, which the published ones are not, and SentEval's
classifiers, which stop early, are not indifferent to that: a doubled copy shows how much.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import pmeans
from pmeans.spaces.library import path_of

folder = Path(sys.argv[1])
glove, _ = pmeans.read_space(folder / "glove-6b-100d.en.f16.npy", name="glove-6b-100d")
news, _ = pmeans.read_space(
    folder / "googlenews-w2v-300d.en.f16.npy", name="googlenews-subset", case="cased-then-lower"
)
doubled = replace(news, name="googlenews-subset-x2", matrix=news.matrix * np.float16(2))
for space in (glove, news, doubled):
    pmeans.save_space(space, path_of(space.name))
    print(path_of(space.name))
