"""Print each demo sentence beside the one that is nearest to it."""

import csv

import numpy as np

with open("sentences.tsv", encoding="utf-8") as file:
    rows = list(csv.DictReader(file, delimiter="\t"))
vectors = np.load("out/sentences.npy")
unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
cosines = unit @ unit.T
np.fill_diagonal(cosines, -1)
print(f"{len(rows)} sentences of three languages in one space of {vectors.shape[1]} columns:")
for i, j in enumerate(cosines.argmax(axis=1)):
    here, there = (f"{row['lang']}  {row['text']}" for row in (rows[i], rows[j]))
    print(f"  {here:<40} {cosines[i, j]:.2f}  {there}")
