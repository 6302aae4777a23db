/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the pcie_aer detector: detector.c hands events out, errors.c counts error
 * reports by device, link.c watches the rate of the links of GPUs, report.c says what was found.
 */
#ifndef TC_DETECT_PCIE_AER_PRIV_H
#define TC_DETECT_PCIE_AER_PRIV_H

#include "detect/counter_priv.h"
#include "detect/mark_priv.h"
#include "detect/teller_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "detect/words_priv.h"
#include "directory/directory.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a name that is quoted: error bits, a network card. */
#define PCIE_WORD_MAX 64
/* Parts of the window that corrected errors are counted in. */
#define PCIE_STEPS 16
/* A window that begins inside a step ends inside the one behind the last. */
#define PCIE_SLOTS (PCIE_STEPS + 2)
/* Reports that are remembered so that a second telling of one is recognised. */
#define PCIE_RECENT 32

/* Ordered: the worst names the incident. */
enum pcie_severity { PCIE_CORRECTED, PCIE_NONFATAL, PCIE_FATAL, PCIE_SEVERITIES };

/* Their names; NULL ends. */
extern const char *const tc__pcie_severities[PCIE_SEVERITIES + 1];

struct pcie_word {
    char text[PCIE_WORD_MAX];
    uint8_t len;
};

static inline struct pcie_word tc__pcie_word(struct tc_slice s)
{
    struct pcie_word w;
    w.len = tc__text_keep(w.text, sizeof w.text, s);
    return w;
}

static inline struct tc_slice tc__pcie_text(const struct pcie_word *w)
{
    return tc_slice_make(w->text, w->len);
}

/* Corrected errors of one step of the window. */
struct pcie_step {
    int64_t number; /* of the step since 1970 */
    int64_t last_ns;
    int64_t count;
    struct tc_mark first;
};

/*
 * The error reports of one device of one node. An episode begins with the first
 * report after quiet; what was told is about the episode.
 */
struct pcie_errors {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_bdf pci;
    struct tc_bdf reporter;
    struct pcie_word errors[PCIE_SEVERITIES]; /* names of the bits of the last report */
    struct pcie_word device_id;
    struct tc_slice layers[PCIE_SEVERITIES]; /* of the last report; literals */
    int64_t since_ns;                        /* of the episode; part of the incident's key */
    int64_t counts[PCIE_SEVERITIES];         /* in the episode; corrected ones of the storm only */
    struct tc_mark first[PCIE_SEVERITIES];
    struct tc_mark last[PCIE_SEVERITIES];
    int64_t news_ns; /* of what has not been told; TC_WAITING_NEVER when all is */
    int64_t told_ns;
    int64_t told_count;
    enum pcie_severity told;
    bool open;
    bool storm;
    bool waits;   /* in the list of what is due */
    int64_t live; /* corrected errors in steps, at least those inside the window */
    struct pcie_step steps[PCIE_SLOTS];
    uint64_t recent[PCIE_RECENT];
    struct tc_tellers tellers;
};

/* A gauge as last sampled. */
struct pcie_gauge {
    double value;
    struct tc_mark mark;
};

enum pcie_measure { PCIE_GEN, PCIE_GEN_MAX, PCIE_WIDTH, PCIE_WIDTH_MAX, PCIE_UTIL, PCIE_MEASURES };

/* What a link did over several samples in a row. */
struct pcie_run {
    int64_t samples;
    int64_t first_ns;
    int64_t last_ns;
    struct tc_mark first;
    struct tc_mark last;
    struct tc_mark busy; /* the sample of utilisation that goes with the last */
    double util;
};

/* The PCIe link of one GPU. */
struct pcie_link {
    struct tc_window_head head;
    uint64_t id; /* of the GPU in the book */
    struct tc_slice node;
    struct tc_slice uuid;
    struct tc_bdf pci;
    int32_t index;
    struct pcie_gauge now[PCIE_MEASURES];
    int64_t sample_ns; /* of the samples that are being gathered */
    bool sampled;      /* one of them is about the link */
    bool unclosed;     /* they have not been looked at */
    bool waits;
    struct tc_counter replays;
    double replay_sum; /* since the run began */
    struct tc_mark replay_mark;
    struct tc_mark line; /* the kernel's line about the width of this link */
    int64_t line_width;
    int64_t line_width_max;
    struct pcie_run low;
    int64_t since_ns; /* of the incident; part of its key */
    int64_t resolved_ns;
    int64_t told_ns; /* the newest sample that was told */
    double told_gen;
    double told_width;
    bool open;
    bool partial;
};

struct pcie_state {
    struct tc_detector_base base;
    int64_t window_ns; /* knobs */
    int64_t corrected;
    int64_t busy_percent;
    int64_t busy_ns;
    int64_t samples;
    int64_t replay_count;
    struct tc_directory *directory;
    struct tc_window errors;
    struct tc_window links;
    struct tc_window nics;
    struct tc_waiting errors_due;
    struct tc_waiting links_due;
    bool finishing; /* nothing more comes: what waits is told as it is */
};

/* Where a device is and what it is. */
enum pcie_sort { PCIE_IS_GPU, PCIE_IS_NIC, PCIE_IS_OTHER };

struct pcie_place {
    struct tc_scope scope;
    enum pcie_sort sort;
    struct tc_slice nic; /* its name, where one is known */
};

/* errors.c */
void tc__pcie_aer(struct pcie_state *st, const struct tc_event *ev);
/* False when the arena is full. */
bool tc__pcie_errors_init(struct pcie_state *st);
TC_CHECKED tc_status tc__pcie_errors_run(struct pcie_state *st, int64_t now_ns,
                                         const struct tc_sink *out);
/* Which card sits at an address. */
void tc__pcie_learn_nic(struct pcie_state *st, const struct tc_event *ev);

/* link.c */
TC_CHECKED tc_status tc__pcie_metric(struct pcie_state *st, const struct tc_event *ev,
                                     const struct tc_sink *out);
void tc__pcie_line(struct pcie_state *st, const struct tc_event *ev);
bool tc__pcie_links_init(struct pcie_state *st);
TC_CHECKED tc_status tc__pcie_links_run(struct pcie_state *st, int64_t now_ns,
                                        const struct tc_sink *out);

/* report.c */
TC_CHECKED tc_status tc__pcie_report_errors(const struct pcie_errors *e,
                                            const struct pcie_place *place, int64_t window_ns,
                                            bool resolved, bool incomplete,
                                            struct tc_arena *scratch, const struct tc_sink *out);
/* `back` is the sample that shows the link at its maximum again, NULL while it is not. */
TC_CHECKED tc_status tc__pcie_report_link(const struct pcie_link *l, const struct pcie_state *st,
                                          const struct tc_mark *back, const struct tc_sink *out);

#endif
