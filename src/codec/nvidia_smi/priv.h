/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nvidia-smi says of one GPU, whatever form it says it in: lines of `-q`, elements of `-q -x`,
 * columns of `--query-gpu` and of `dmon`, rows of its table. Each form looks its names up in one
 * table (fields.c), and one function makes events of what came together (gpu.c).
 */
#ifndef TC_CODEC_NVIDIA_SMI_PRIV_H
#define TC_CODEC_NVIDIA_SMI_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/lines/lines_priv.h"
#include "event/event.h"
#include "event/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum smi_form { SMI_TEXT, SMI_XML, SMI_CSV, SMI_DMON };

/* What a value is. */
enum smi_field {
    SMI_NUMBER, /* of `metric` */
    SMI_SUM,    /* the same, of several that count together */
    SMI_ECC, /* the same, in the volatile or the aggregate part: of `metric` or the next but one */
    SMI_HEX, /* of `metric`: NVML's bits */
    SMI_REASON, /* "Active": one of those bits */
    SMI_FLAG,   /* of `metric`: "Yes", "1" */
    SMI_INDEX,  /* the rest is about the GPU itself */
    SMI_UUID,
    SMI_PCI,
    SMI_TIME,
    SMI_PSTATE,
    SMI_RECOVERY, /* "GPU Recovery Action" */
    SMI_RESET,    /* "Yes": a reset is required or recommended */
    SMI_FABRIC,   /* how the registration with the fabric ended */
};

struct smi_name {
    enum smi_form form;
    const char *section; /* heading, parent element; NULL: any */
    const char *name;
    enum smi_field field;
    uint16_t metric; /* enum tc_metric */
    double scale;    /* 0: 1; of SMI_REASON: the bit */
};

/* Links of one GPU. */
#define SMI_LINKS_MAX 64

struct smi_value {
    double value;
    struct tc_slice raw; /* the line that says so */
    bool known;
};

struct smi_gpu {
    struct tc__line line; /* the first of what it came from: when and where */
    int64_t time_ns;
    bool begun;
    struct tc_bdf pci;
    int32_t index; /* -1 unknown */
    struct tc_slice uuid;
    int pstate; /* -1 unknown */
    struct smi_value metrics[TC_METRIC_COUNT];
    struct smi_value links[SMI_LINKS_MAX]; /* 1: active, 0: inactive */
    /* Values that the driver could not get, and one of them. */
    unsigned errors;
    bool lost;
    struct tc_slice error_raw;
    /* A finding of the driver's own: an action, a fabric that did not come up. */
    struct tc_slice finding;
    struct tc_slice finding_raw;
    struct tc_slice finding_system;
    bool finding_fails;
    bool listed;      /* in a list of all GPUs of the node */
    int64_t attached; /* of -q, how many there are; 0 unknown */
    bool aggregate;   /* in the part of ECC errors that counts since ever */
};

/* What is known of that name; NULL: nothing of use. Names are compared without case. */
const struct smi_name *tc__smi_name(enum smi_form form, struct tc_slice section,
                                    struct tc_slice name);
/* Takes a value in; `raw` is the line it stands in. */
void tc__smi_set(const struct tc_codec_input *in, struct smi_gpu *g, const struct smi_name *name,
                 struct tc_slice text, struct tc_slice raw);
/* A value that could not be had: "ERR!", "Unknown Error", "GPU is lost". */
bool tc__smi_note_error(struct smi_gpu *g, struct tc_slice text, struct tc_slice raw);
void tc__smi_set_metric(struct smi_gpu *g, enum tc_metric metric, double value,
                        struct tc_slice raw);

/* ---- gpu.c ---- */

/* Begins a GPU at that line. The one before must have been flushed. */
void tc__smi_begin(struct tc__lines *w, struct smi_gpu *g, const struct tc__line *line);
/* Hands over what is known of the GPU as events, and forgets it. */
TC_CHECKED tc_status tc__smi_flush(struct tc__lines *w, struct smi_gpu *g);
/* A gpu_health of what is known of the GPU. */
TC_CHECKED tc_status tc__smi_health(struct tc__lines *w, const struct smi_gpu *g,
                                    const struct tc__line *line, struct tc_slice system, bool fails,
                                    struct tc_slice message);

/* ---- xml.c ---- */

/* All <gpu> elements that begin in that line. *io_ns is the document's time, from its head. */
TC_CHECKED tc_status tc__smi_xml(struct tc__lines *w, const struct tc__line *line,
                                 struct smi_gpu *g, int64_t *io_ns, bool *out_ours);

/* ---- rows.c ---- */

#define SMI_COLUMNS_MAX 96

struct smi_columns {
    size_t count;   /* 0: none */
    char separator; /* ' ': blanks */
    const struct smi_name *names[SMI_COLUMNS_MAX];
    int date; /* dmon -o DT: where date and time are; -1 */
    int clock;
};

/* The columns that a line of names says, or a command line with --query-gpu=...: false: none. */
bool tc__smi_columns(struct tc_slice text, struct smi_columns *out);
/* A line of values: false when it is none. */
bool tc__smi_row(struct tc__lines *w, const struct tc__line *line, const struct smi_columns *c,
                 struct smi_gpu *g);
/* The first and the second line of a GPU in the table. */
bool tc__smi_table_first(struct tc__lines *w, const struct tc__line *line, struct smi_gpu *g);
void tc__smi_table_second(const struct tc__line *line, struct smi_gpu *g);

#endif
