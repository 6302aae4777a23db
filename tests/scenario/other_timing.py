# SPDX-License-Identifier: Apache-2.0
"""The simulator's formats and nothing of its timing: both sides of each threshold, other clocks."""

import timing_job
import timing_node
from cluster import Cluster


def tell():
    cluster = Cluster(until=7200)
    for story in timing_node.STORIES + timing_job.STORIES:
        story(cluster)
    return cluster
