/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a fleet and how they are written. A writer appends to out->b and
 * calls tc__sim_drain between records; whatever a record needs fits SIM_OUT_ROOM.
 */
#ifndef TC_SIM_FILE_PRIV_H
#define TC_SIM_FILE_PRIV_H

#include "sim/sim_priv.h"

#define SIM_OUT_ROOM (128u << 10)

/* A line of the Collector's file exporter, around elements of logs. */
#define SIM_REQUEST_BEGIN "{\"resourceLogs\":["
#define SIM_REQUEST_END "]}\n"

struct sim_out {
    struct tc_buf b;
    tc_sim_write_fn write;
    void *context;
    tc_status status;
    char *text;
    size_t size;
};

/* Passes on what has gathered when less than SIM_OUT_ROOM is left. False once it failed. */
bool tc__sim_drain(struct sim_out *out);

enum sim_file_kind {
    SIM_FILE_TRUTH,
    SIM_FILE_STREAM, /* which: SIM_EVENTS or SIM_OBJECTS */
    SIM_FILE_KERNEL, /* node */
    SIM_FILE_DCGM,   /* node */
    SIM_FILE_TRAIN,  /* job */
    SIM_FILE_DUMP,   /* rank of job */
};

struct sim_file {
    enum sim_file_kind kind;
    uint32_t which;
    uint32_t rank;
};

/* The planned lines of a stream and place, by time. */
struct sim_lines {
    const struct sim_line *at;
    const struct sim_line *end;
};

struct sim_lines tc__sim_lines(const struct tc_sim *s, enum sim_stream stream, uint32_t place);

/* Each writes a file of its kind; out->status says how that went. */
typedef void sim_write_file(const struct tc_sim *s, const struct sim_file *f, struct sim_out *out);
sim_write_file tc__sim_write_truth, tc__sim_write_stream, tc__sim_write_kernel, tc__sim_write_dcgm,
    tc__sim_write_train, tc__sim_write_dump;
/* Whether that rank of a job that dumps leaves a dump. */
bool tc__sim_has_dump(const struct tc_sim *s, const struct sim_job *j, uint32_t rank);

#endif
