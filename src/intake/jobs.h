/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which dumps belong together. Dumps of one directory are one job, named after it. Directories
 * side by side in which no rank is there twice are one job too, with a directory a node or a pod:
 * it is named after the directory above. A directory that holds nothing but copies of the dumps of
 * another one is that one.
 *
 * The log of a job is named after it, or lies in a directory that is: "slurm-4711.out",
 * "4711/rank0.log"; any other name is a job's where a map of ranks knows it as one.
 */
#ifndef TC_INTAKE_JOBS_H
#define TC_INTAKE_JOBS_H

#include "base/status.h"
#include "intake/input.h"

/* Gives every dump among the inputs its job and, where directories are places, its place; and
 * every log of a program its job, where its name says so. */
TC_CHECKED tc_status tc_jobs_apply(struct tc_inputs *in);

#endif
