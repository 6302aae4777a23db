# SPDX-License-Identifier: Apache-2.0
"""Every pattern, and what looks like it, in formats and words that the simulator does not use."""

import wordings_gpu
import wordings_host
import wordings_train
from cluster import Cluster


def tell():
    cluster = Cluster(until=5400)
    for story in wordings_gpu.STORIES + wordings_host.STORIES + wordings_train.STORIES:
        story(cluster)
    return cluster
