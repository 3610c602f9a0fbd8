"""The benchmark's criterion in PyTorch, for a box in side distributions and a score in a distribution, one class.

Task-aligned assignment (Feng et al. 2021, TOOD), distribution focal loss of the score at every anchor and of the sides
on assigned ones (Li et al. 2020), CIoU (Zheng et al. 2020). All boxes are x1 y1 x2 y2 in pixels.
"""
import math

import torch

TOPK = 10
BOX, SIDES, SCORE = 7.5, 1.5, 1.0


def ciou(a, b, eps=1e-7):
    """Complete IoU of boxes [..., 4] and [..., 4]."""
    ax1, ay1, ax2, ay2 = a.unbind(-1)
    bx1, by1, bx2, by2 = b.unbind(-1)
    aw, ah, bw, bh = ax2 - ax1, ay2 - ay1 + eps, bx2 - bx1, by2 - by1 + eps
    width = (torch.min(ax2, bx2) - torch.max(ax1, bx1)).clamp(min=0)
    height = (torch.min(ay2, by2) - torch.max(ay1, by1)).clamp(min=0)
    overlap = width * height
    iou = overlap / (aw * ah + bw * bh - overlap + eps)
    hull_width = torch.max(ax2, bx2) - torch.min(ax1, bx1)
    hull_height = torch.max(ay2, by2) - torch.min(ay1, by1)
    diagonal = hull_width**2 + hull_height**2 + eps
    distance = ((bx1 + bx2 - ax1 - ax2) ** 2 + (by1 + by2 - ay1 - ay2) ** 2) / 4
    aspect = (4 / math.pi**2) * (torch.atan(bw / bh) - torch.atan(aw / ah)) ** 2
    with torch.no_grad():
        alpha = aspect / (aspect - iou + 1 + eps)
    return iou - distance / diagonal - alpha * aspect


def two_hot(logits, position):
    """Cross entropy of laws [rows, bins, ...] with targets between two bins [rows, ...]."""
    left = position.floor().long().clamp(max=logits.shape[1] - 2)
    share = position - left
    logs = logits.log_softmax(1)
    pair = logs.gather(1, torch.stack((left, left + 1), 1))
    return -(pair[:, 0] * (1 - share) + pair[:, 1] * share)


class Criterion:
    def __init__(self, levels, bins=16, score_bins=10):
        """levels: (rows, columns, stride) each."""
        centres, strides = [], []
        for rows, columns, stride in levels:
            y, x = torch.meshgrid(torch.arange(rows) + 0.5, torch.arange(columns) + 0.5, indexing="ij")
            centres.append(torch.stack((x, y), -1).view(-1, 2) * stride)
            strides.append(torch.full((rows * columns, 1), float(stride)))
        self.centres, self.strides = torch.cat(centres), torch.cat(strides)
        self.distances = torch.arange(bins, dtype=torch.float)
        self.scores = torch.linspace(0, 1, score_bins)

    def corners(self, distance, centres, strides):
        distance = distance * strides
        return torch.cat((centres - distance[..., :2], centres + distance[..., 2:]), -1)

    @torch.no_grad()
    def assign(self, corners, score, objects, exists):
        """Target and object of every anchor [pictures, anchors]; the target of background is 0."""
        x, y = self.centres.unbind(1)
        x1, y1, x2, y2 = objects[..., None].unbind(2)
        inside = (x > x1) & (x < x2) & (y > y1) & (y < y2) & exists[..., None]
        picture, number, anchor = inside.nonzero(as_tuple=True)
        overlap = torch.zeros(inside.shape)
        overlap[inside] = ciou(corners[picture, anchor], objects[picture, number]).clamp(min=0)
        metric = score[:, None].sqrt() * overlap**6
        best, anchors = metric.topk(TOPK, -1)
        claimed = torch.zeros_like(inside).scatter_(-1, anchors, best > 0)
        closest = torch.zeros_like(inside).scatter_(1, overlap.max(1, keepdim=True).indices, True)
        claimed = torch.where(claimed.sum(1, keepdim=True) > 1, closest, claimed)
        metric, overlap = metric * claimed, overlap * claimed
        target = metric * (overlap.amax(-1, keepdim=True) / (metric.amax(-1, keepdim=True) + 1e-9))
        positive, owner = claimed.max(1)
        return target.amax(1), owner, positive

    def __call__(self, outputs, objects, exists):
        """outputs: per level raw box [N, 4 bins, h, w] and score [N, bins, h, w]; objects [N, most, 4]."""
        box = torch.cat([sides.flatten(2) for sides, _ in outputs], 2).unflatten(1, (4, -1))
        score = torch.cat([law.flatten(2) for _, law in outputs], 2)
        with torch.no_grad():
            distance = (box.softmax(2) * self.distances.view(-1, 1)).sum(2).transpose(1, 2)
            corners = self.corners(distance, self.centres, self.strides)
            expected = (score.softmax(1) * self.scores.view(-1, 1)).sum(1)
        target, owner, positive = self.assign(corners, expected, objects, exists)
        normaliser = target.sum().clamp(min=1)
        loss = SCORE * two_hot(score, target * (len(self.scores) - 1)).sum()
        picture, anchor = positive.nonzero(as_tuple=True)
        weight, goal = target[positive], objects[picture, owner[positive]]
        logits, centres, strides = box[picture, :, :, anchor], self.centres[anchor], self.strides[anchor]
        met = self.corners(logits.softmax(2).matmul(self.distances), centres, strides)
        loss = loss + BOX * (weight * (1 - ciou(met, goal))).sum()
        sides = torch.cat((centres - goal[:, :2], goal[:, 2:] - centres), 1) / strides
        position = sides.clamp(0, len(self.distances) - 1 - 0.01)
        law = two_hot(logits.flatten(0, 1), position.flatten()).view(-1, 4).mean(1)
        return (loss + SIDES * (weight * law).sum()) / normaliser, len(anchor)
