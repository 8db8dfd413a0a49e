"""Write over something time and again, killed before each system call in turn, and look.

``killed_writers.py FOLDER encoder|file exchange|rename`` forks a writer for each call, and prints
the number of kills that were survived. Python announces what changes a folder before it does it
(`sys.addaudithook`), so that to be killed there is to be killed after the call before.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, models, outputs
from pmeans.files import replacing

CALLS = {
    "open", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod",
    "shutil.rmtree", "fcntl.flock", "ctypes.dlsym",
}  # fmt: skip


def encoder_of(number):
    space = WordSpace.from_words("s", {"en": ["a", "b"]}, np.full((2, 2), number, np.float32))
    return PowerMeanEncoder(Recipe((Part("s"),)), {"s": space})


def write_encoder(path, number):
    models.save(encoder_of(number), path)


def read_encoder(path):
    return int(pmeans.load(path).spaces["s"].matrix[0, 0])


def write_file(path, number):
    with replacing(path) as file:
        file.write(bytes([number]) * 100)


def read_file(path):
    content = path.read_bytes()
    assert content == content[:1] * 100, content
    return content[0]


def killed_at(n, write):
    """Fork a writer and kill it before its nth call; return whether it came so far."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = [n]

    def hook(event, args):
        if event in CALLS:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    write()
    os._exit(0)


def main(folder, what, how):
    if how == "rename":
        outputs._exchange = lambda one, other: False
    write, read = {
        "encoder": (write_encoder, read_encoder),
        "file": (write_file, read_file),
    }[what]
    path, n, seen = Path(folder) / "it", 0, set()
    write(path, 1)
    while killed_at(n, lambda: write(path, 2)):
        if how == "exchange":
            assert path.exists(), n
        found = read(path)
        assert found in (1, 2), n
        seen.add(found)
        write(path, 3)  # the next one tidies up
        assert [each.name for each in Path(folder).iterdir()] == ["it"], n
        assert read(path) == 3, n
        write(path, 1)
        n += 1
    assert read(path) == 2
    if what == "encoder":  # after a file has its name, there is nothing left to do
        assert seen == {1, 2}, seen
    print(n)


main(*sys.argv[1:])
