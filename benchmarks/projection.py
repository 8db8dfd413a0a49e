"""A training step of the tanh projection: NumPy, as in pmeans, against the same step in torch.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/projection.py

CPU milliseconds a step of 128 pairs, 300 columns, output dropout, Adam; one thread each, in turn.
"""

import statistics
import time

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from pmeans_lab.training.tanh_map import TanhMap, gradients

PAIRS, DIM, BATCH, STEPS, ROUNDS = 20_000, 300, 128, 100, 5

torch.set_num_threads(1)
rng = np.random.default_rng(0)
first, second = (rng.normal(size=(PAIRS, DIM)).astype(np.float32) for _ in range(2))
there = torch.from_numpy(first), torch.from_numpy(second)
maps = [TanhMap.glorot(DIM, DIM, rng) for _ in range(2)]
layers = [torch.nn.Linear(DIM, DIM) for _ in range(2)]
adam = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=1e-3, fused=True)


def numpy_step() -> None:
    rows, others = rng.integers(0, PAIRS, (2, BATCH))
    weights = (each.weights for each in maps)
    batch = first[rows], second[rows], second[others]
    _, *slopes = gradients(*weights, *batch, "output", rng)
    for each, slope in zip(maps, slopes, strict=True):
        each.step(slope)


def torch_step() -> None:
    rows, others = torch.randint(0, PAIRS, (2, BATCH))
    kept = torch.randint(0, 2, (BATCH, DIM)).float()
    s = torch.tanh(layers[0](there[0][rows])) * kept
    t, u = torch.tanh(layers[1](there[1][torch.cat([rows, others])])).split(BATCH)
    loss = torch.relu(0.5 - cosine_similarity(s, t * kept) + cosine_similarity(s, u * kept))
    adam.zero_grad()
    loss.mean().backward()
    adam.step()


times: dict[str, list[float]] = {"numpy": [], "torch": []}
for turn in range(ROUNDS + 1):
    for name, step in (("numpy", numpy_step), ("torch", torch_step)):
        begin = time.process_time()
        for _ in range(STEPS):
            step()
        if turn:  # round 0 warms up
            times[name].append(1000 * (time.process_time() - begin) / STEPS)
for name, taken in times.items():
    print(f"{name}: {statistics.median(taken):.2f} ms ({min(taken):.2f} to {max(taken):.2f})")
