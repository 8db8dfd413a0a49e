#!/bin/sh
# What `make demo` runs. The vectors are a toy, written for this demo: a hundred words in three
# languages, eight dimensions (animal, food, person, motion, rest, good, bad, place).
set -eu
cd "$(dirname "$0")"
say() { printf '\n$ %s\n' "$*"; "$@"; }

say pmeans spaces convert vectors.txt --out out/toy.safetensors
say pmeans spaces neighbours out/toy.safetensors dog --lang en --into de -k 3
say pmeans embed out/toy.safetensors sentences.tsv --lang-column lang --out out/sentences.npy
say python similarity.py
