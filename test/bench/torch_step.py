"""One training step of the benchmark's networks in PyTorch: what `npm run bench train` compares with.

usage: torch_step.py whole|head batch threads steps [warm-up steps]
Prints one JSON line: milliseconds of wall clock and of CPU time for every step, and the first losses.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BINS, CLASSES = 16, 4


def block(inputs, outputs, stride, normalise):
    layers = [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=not normalise)]
    if normalise:
        layers.append(nn.BatchNorm2d(outputs))
    return [*layers, nn.SiLU(inplace=True)]


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [(3, 16, 2), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
        layers = [layer for width in widths for layer in block(*width, True)]
        self.net = nn.Sequential(*layers, nn.Conv2d(128, 4 * BINS + CLASSES, 1))

    def forward(self, features):
        return [self.net(features[0])]


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList(
            nn.Sequential(*block(width, 64, 1, False), *block(64, 64, 1, False), nn.Conv2d(64, 4 * BINS + CLASSES, 1))
            for width in (64, 128, 256)
        )

    def forward(self, features):
        return [level(feature) for level, feature in zip(self.levels, features)]


def loss_of(output, sides, classes):
    batch, _, height, width = output.shape
    logits = output[:, : 4 * BINS].view(batch, 4, BINS, height, width)
    box = -(sides * F.log_softmax(logits, 2)).sum()
    brier = ((output[:, 4 * BINS :].sigmoid() - classes) ** 2).sum()
    return (box + brier) / batch


def main():
    kind, batch, threads, steps = sys.argv[1], *map(int, sys.argv[2:5])
    warm_up = int(sys.argv[5]) if len(sys.argv) > 5 else 3
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    if kind == "whole":
        net, shapes, maps = Whole(), [(3, 160, 160)], [10]
    else:
        net, shapes, maps = Head(), [(64, 20, 20), (128, 10, 10), (256, 5, 5)], [20, 10, 5]
    features = [torch.randn(batch, *shape) for shape in shapes]
    sides = [torch.softmax(torch.randn(batch, 4, BINS, size, size), 2) for size in maps]
    classes = [torch.rand(batch, CLASSES, size, size) for size in maps]
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    net.train()
    wall, cpu, losses = [], [], []
    for _ in range(steps + warm_up):
        started, burnt = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        loss = sum(map(loss_of, net(features), sides, classes))
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        wall.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (time.process_time() - burnt))
    print(json.dumps({"torch": torch.__version__, "wallMs": wall[warm_up:], "cpuMs": cpu[warm_up:], "losses": losses[:7]}))


main()
