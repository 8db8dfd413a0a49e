"""Malformed input by the million: whatever the bytes, a result or a `PmeansError`.

``make fuzz`` throws inputs at the readers, the store, recipes, files of sentences, the tokeniser
and the look-up. Another exception or warning, a crash, a hang, or memory without bounds is a
finding, printed with the command that replays it: input i is a function of the seed and i alone.

- `damage`: how bytes are damaged;
- `seeds`: small valid files of every format;
- `files`, `corpora`, `strings`: what is done with them, one function a target; `targets` lists all;
- `runner`: worker processes, so that a crash is found and put down to its input.
"""
