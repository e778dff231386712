"""What SPFlow's LearnSPN is told on binary tables, where its defaults take minutes or never end."""

from __future__ import annotations

from typing import Any

import networkx
import torch
from spflow.learn.learn_spn import cluster_by_kmeans

#: 0.1 % point of χ² with one degree of freedom.
DEPENDENT = 10.83


def partition_by_g_test(data: Any) -> Any:
    """Groups of dependent binary columns: the test of the LearnSPN paper.

    SPFlow's own choice, randomised dependence coefficients, takes minutes for every node here.
    """
    ones = data.double()
    cells = [ones, 1.0 - ones]
    statistic = torch.zeros(data.shape[1], data.shape[1], dtype=torch.float64)
    for a in cells:
        for b in cells:
            observed = a.T @ b
            expected = torch.outer(a.sum(0), b.sum(0)) / len(data)
            statistic += 2 * torch.xlogy(observed, observed / expected.clamp(min=1e-9))
    groups = torch.zeros(data.shape[1], dtype=torch.int)
    dependent = networkx.from_numpy_array((statistic > DEPENDENT).numpy())
    for number, group in enumerate(networkx.connected_components(dependent)):
        groups[list(group)] = number
    return groups


def cluster_rows(data: Any) -> Any:
    """SPFlow's k-means, or halves where it leaves one cluster, which LearnSPN never gets out of."""
    labels = cluster_by_kmeans(data)
    return labels if len(labels.unique()) > 1 else torch.arange(len(data)) % 2
