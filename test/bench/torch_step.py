"""One training step of the benchmark's networks in PyTorch: what `npm run bench train` compares with.

usage: torch_step.py whole|head threads steps warm-up-steps
           reads {"objects": boxes of every picture} and prints milliseconds of wall clock and of CPU time for every
           step, and the first losses
       torch_step.py criterion
           reads {"objects", "levels": [{"stride", "box", "quality"}]}, raw outputs flat, and prints the loss and its
           gradients
"""
import json
import sys
import time

import torch
from torch import nn
from torch_criterion import Criterion

SIZE_PX, BINS, SCORE_BINS = 160, 16, 10


def block(inputs, outputs, stride, normalise):
    layers = [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=not normalise)]
    if normalise:
        layers.append(nn.BatchNorm2d(outputs))
    return [*layers, nn.SiLU(inplace=True)]


class Level(nn.Module):
    """A trunk and the two convolutions that read box and score from it."""

    def __init__(self, trunk, width):
        super().__init__()
        self.trunk = nn.Sequential(*trunk)
        self.box, self.score = nn.Conv2d(width, 4 * BINS, 1), nn.Conv2d(width, SCORE_BINS, 1)

    def forward(self, x):
        x = self.trunk(x)
        return self.box(x), self.score(x)


def network(kind):
    """Levels, strides and shapes of the inputs."""
    if kind == "whole":
        widths = [(3, 16, 2), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
        levels = [Level([layer for width in widths for layer in block(*width, True)], 128)]
        strides, shapes = [16], [(3, SIZE_PX, SIZE_PX)]
    else:
        widths, strides = (64, 128, 256), (8, 16, 32)
        levels = [Level([*block(width, 64, 1, False), *block(64, 64, 1, False)], 64) for width in widths]
        shapes = [(width, SIZE_PX // stride, SIZE_PX // stride) for width, stride in zip(widths, strides)]
    net = nn.ModuleList(levels)
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return net, strides, shapes


def padded(objects):
    """Boxes [N, most, 4], and which of them exist."""
    most = max(map(len, objects))
    boxes = torch.tensor([[*each, *[[0.0] * 4] * (most - len(each))] for each in objects])
    return boxes, torch.tensor([[index < len(each) for index in range(most)] for each in objects])


def criterion_for(strides):
    return Criterion([(SIZE_PX // stride, SIZE_PX // stride, stride) for stride in strides], BINS, SCORE_BINS)


def judge(given):
    boxes, exists = padded(given["objects"])
    strides = [level["stride"] for level in given["levels"]]

    def raw(level, name):
        size = SIZE_PX // level["stride"]
        return torch.tensor(level[name]).view(len(boxes), -1, size, size).requires_grad_()

    outputs = [(raw(level, "box"), raw(level, "quality")) for level in given["levels"]]
    loss, positives = criterion_for(strides)(outputs, boxes, exists)
    loss.backward()
    gradients = [output.grad.flatten().tolist() for pair in outputs for output in pair]
    return {"total": float(loss), "positives": positives, "gradients": gradients}


def measure(kind, threads, steps, warm_up, given):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    net, strides, shapes = network(kind)
    boxes, exists = padded(given["objects"])
    features = [torch.randn(len(boxes), *shape) for shape in shapes]
    criterion = criterion_for(strides)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    net.train()
    wall, cpu, losses = [], [], []
    for _ in range(steps + warm_up):
        started, burnt = time.perf_counter(), time.process_time()
        optimizer.zero_grad(set_to_none=True)
        outputs = [level(feature) for level, feature in zip(net, features)]
        loss, _ = criterion(outputs, boxes, exists)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        wall.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (time.process_time() - burnt))
    return {"torch": torch.__version__, "wallMs": wall[warm_up:], "cpuMs": cpu[warm_up:], "losses": losses[:7]}


given = json.load(sys.stdin)
print(json.dumps(judge(given) if sys.argv[1] == "criterion" else measure(sys.argv[1], *map(int, sys.argv[2:5]), given)))
