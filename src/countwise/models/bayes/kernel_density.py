"""Kernel densities: prediction time does not grow with the number of training rows.

A Gaussian kernel estimate is smooth at the scale of its bandwidth. Where there is mass, the axis is
cut into boxes one bandwidth wide and the density in each box is a polynomial fitted at Chebyshev
nodes, exact to about ten digits; farther than five bandwidths from every point the (at most 4096)
grid points are summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.moments import freedom

_NODES = 13
_REACH = 5  # boxes this far from a point have a polynomial
_TAIL = 11  # and points this far from a box are still felt in it
_DENSE = 1 << 20


def bandwidth_of(points: FloatArray, weights: FloatArray, rule: str | float, floor: float) -> float:
    """Choose a bandwidth: Silverman's or Scott's rule of thumb, or the number given.

    Silverman (1986): 0.9 · min(standard deviation, interquartile range / 1.34) · n^(-1/5);
    Scott (1992): 1.06 · standard deviation · n^(-1/5).
    """
    if not isinstance(rule, str):
        return float(rule)
    total = float(weights.sum())
    mean = float(np.average(points, weights=weights))
    square = float((weights * (points - mean) ** 2).sum())
    deviation = float(np.sqrt(square / float(freedom(total))))
    factor = 1.06
    if rule == "silverman":
        factor = 0.9
        cumulative = np.cumsum(weights) / total
        low, high = points[np.searchsorted(cumulative, [0.25, 0.75])]
        if high > low:
            deviation = min(deviation, float(high - low) / 1.34)
    # Weights may be shares that sum to one: there are at least as many rows as points.
    return max(factor * deviation * float(max(total, len(points)) ** -0.2), floor)


def density_of(
    points: FloatArray, weights: FloatArray, rule: str | float, floor: float
) -> KernelDensity:
    """Return the density of weighted points; without any, a single bump around zero."""
    if not len(points):
        return KernelDensity(np.zeros(1), np.ones(1), 1.0)
    width = bandwidth_of(points, weights, rule, floor)
    return KernelDensity(points, weights / weights.sum(), width)


@dataclass(frozen=True)
class KernelDensity:
    """A weighted sum of Gaussian bumps, quick to evaluate anywhere."""

    points: FloatArray
    weights: FloatArray  # they sum to one
    bandwidth: float

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that the kernel reads: points, weights, bandwidth, boxes, polynomials."""
        boxes, polynomial = self._boxes()
        return self.points, self.weights, self.bandwidth, boxes, polynomial

    def _boxes(self) -> tuple[FloatArray, FloatArray]:
        width = self.bandwidth
        home = np.floor(self.points / width)
        if not len(home) or np.abs(home).max() > min(2**50, 1e300 / width):
            return np.empty(0), np.empty((0, _NODES))
        boxes: FloatArray = np.unique(home[:, None] + np.arange(-_REACH, _REACH + 1.0))
        angle = (np.arange(_NODES) + 0.5) * np.pi / _NODES
        nodes = np.cos(angle)
        if len(boxes) * _NODES * len(home) <= _DENSE:
            at = (boxes[:, None] + 0.5 + 0.5 * nodes).reshape(-1, 1) - self.points / width
            values = (np.exp(-0.5 * at * at) @ self.weights).reshape(-1, _NODES)
        else:
            values = self._values(boxes, home, nodes)
        return boxes * width, np.ascontiguousarray(values @ _from_nodes(nodes))

    def _values(self, boxes: FloatArray, home: FloatArray, nodes: FloatArray) -> FloatArray:
        """Return the density at the nodes of all boxes; a point adds only to those it reaches."""
        width = self.bandwidth
        values = np.zeros((len(boxes), _NODES))
        for offset in range(-_TAIL, _TAIL + 1):
            box = home + offset
            place = np.searchsorted(boxes, box)
            found = place < len(boxes)
            found[found] = boxes[place[found]] == box[found]
            if not found.any():
                continue
            # Distance of the box's nodes from the point, in bandwidths.
            offset_in_box = self.points[found] / width - home[found]
            z = offset + 0.5 + 0.5 * nodes[None, :] - offset_in_box[:, None]
            bump = self.weights[found, None] * np.exp(-0.5 * z * z)
            for node in range(_NODES):
                values[:, node] += np.bincount(
                    place[found], weights=bump[:, node], minlength=len(boxes)
                )
        return values


def _from_nodes(nodes: FloatArray) -> FloatArray:
    """Return the matrix that turns values at the nodes into coefficients, highest power first."""
    return np.asarray(np.linalg.inv(np.vander(nodes)).T)
