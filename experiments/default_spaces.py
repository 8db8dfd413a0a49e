"""Install the word spaces of the package's own model, for the rows of transfer.toml.

python experiments/default_spaces.py
"""

import pmeans
from pmeans.spaces.edit import rename
from pmeans.spaces.library import path_of

for name, space in pmeans.load().spaces.items():
    own = f"default-{name}"
    pmeans.save_space(rename(space, own), path_of(own))
    print(path_of(own))
