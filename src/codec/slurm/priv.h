/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CODEC_SLURM_PRIV_H
#define TC_CODEC_SLURM_PRIV_H

#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"

/* A message is kept up to here. */
#define SLURM_MESSAGE_MAX 1024
#define SLURM_NAME_MAX 256

/* cursor->own: where the table ends that was read with its header. */
enum { SLURM_OWN_TABLE };

/* What is said of nodes. */
struct slurm_nodes {
    struct tc_slice hosts;  /* a list as Slurm writes it; "" unknown */
    struct tc_slice job;    /* "" unknown */
    struct tc_slice reason; /* "" unknown */
    const char *status;     /* "True": out of service; "False"; "Unknown" */
    int64_t time_ns;        /* TC_TIME_NONE: that of the line */
};

/* What is said of a job, or of a task of it. */
struct slurm_job {
    struct tc_slice job;    /* "" unknown */
    struct tc_slice node;   /* "" unknown */
    struct tc_ev_exit exit; /* exit_code and signal only */
    int32_t rank;           /* -1 unknown */
    bool out_of_memory;
    bool is_task;    /* what is said is said of one or more tasks of it */
    bool stopped;    /* somebody ended it on purpose, or its time was up */
    int64_t time_ns; /* TC_TIME_NONE: that of the line */
};

/* ---- hosts.c ---- */

/*
 * The names of a list: "gpu[01-04,07],login1". Start with *io_at 0; each call gives the next, in
 * `room` where it had to be made. False at the end, or where a list is none.
 */
bool tc__slurm_host_next(struct tc_slice hosts, uint64_t *io_at, char room[SLURM_NAME_MAX],
                         struct tc_slice *out);

/* ---- events.c ---- */

/* Whether a text is a state of a node as sinfo writes it. */
bool tc__slurm_is_state(struct tc_slice state);
/* Whether a state of a node is one in which it does not take jobs because of a fault or a person:
 * "down*", "IDLE+DRAIN", "drng". */
bool tc__slurm_is_bad(struct tc_slice state);
/* Whether a text is a state of a job, and a failure; *io says which. */
bool tc__slurm_job_state(struct tc_slice state, bool *out_failed, bool *out_memory);
/* "1:0": an exit code and a signal. */
bool tc__slurm_exit_code(struct tc_slice text, struct tc_ev_exit *io);
TC_CHECKED tc_status tc__slurm_tell_nodes(struct tc__lines *w, const struct tc__line *line,
                                          const struct slurm_nodes *n);
TC_CHECKED tc_status tc__slurm_tell_job(struct tc__lines *w, const struct tc__line *line,
                                        const struct slurm_job *j);

/* ---- tables.c ---- */

/* A header of sinfo, sacct, squeue or sacctmgr, and the rows below it. */
TC_CHECKED tc_status tc__slurm_read_table(struct tc__lines *w, const struct tc__line *line,
                                          bool *out_ours);
/* `scontrol show node`, at "NodeName=". */
TC_CHECKED tc_status tc__slurm_read_node(struct tc__lines *w, const struct tc__line *line,
                                         struct tc_slice after, bool *out_ours);
/* `scontrol show job`, at "JobId=". */
TC_CHECKED tc_status tc__slurm_read_job(struct tc__lines *w, const struct tc__line *line,
                                        struct tc_slice after, bool *out_ours);
/* seff, at "Job ID: ". */
TC_CHECKED tc_status tc__slurm_read_seff(struct tc__lines *w, const struct tc__line *line,
                                         struct tc_slice after, bool *out_ours);
/* The nodes in JSON, as sinfo, scontrol and slurmrestd give them. */
TC_CHECKED tc_status tc__slurm_read_json(struct tc__lines *w, const struct tc__line *line,
                                         struct tc_slice after, bool *out_ours);

#endif
