/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore simulate --stream`: the files of a fleet on standard output, piece by piece in the
 * order of time, for a program that plays the cluster. It waits while nobody reads, so the reader
 * sets the pace and nothing is kept on a disk.
 */
#ifndef TC_CLI_SIMULATE_STREAM_H
#define TC_CLI_SIMULATE_STREAM_H

#include "sim/sim.h"

/* Writes it all. An exit status: 0 written, 2 it could not be. */
int tc_simulate_stream(const struct tc_sim *sim, int64_t start_ns);

#endif
