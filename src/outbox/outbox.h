/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts on their way out. Each is made durable first, with the identity of its incident and what
 * was told; then it is delivered to the NDJSON file and to the OTLP downstream, told to the
 * receivers of alerts, and pulled by the warehouse, each at its own pace, retried until it
 * succeeds. Once in the file, at least once downstream; the incident id and the status name it. The
 * log is compacted to one mark per incident plus what is not delivered yet. docs/verdicts-out.md
 * describes the files and the promises.
 *
 * Own threads; tc_outbox_put may be called from one thread, the loop's.
 */
#ifndef TC_OUTBOX_OUTBOX_H
#define TC_OUTBOX_OUTBOX_H

#include "base/slice.h"
#include "base/status.h"
#include "live/live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tc_alert_settings;
struct tc_outbox;

/* What waits in memory for the disk. Only a disk that does not write lets it come to this. */
#define TC_OUTBOX_QUEUE_MAX ((size_t)16 << 20)
/* One verdict with its mark. */
#define TC_OUTBOX_RECORD_MAX ((size_t)1 << 20)
/* Identities of incidents that are kept for a restart, unless the configuration says otherwise. */
#define TC_OUTBOX_MARKS_MAX ((size_t)262144)

/* File calls that can fail, so that tests can make them. NULL members: the system's own. */
struct tc_outbox_io {
    ssize_t (*pwrite)(int fd, const void *data, size_t len, off_t at); /* of the log */
    ssize_t (*write)(int fd, const void *data, size_t len);            /* of the NDJSON file */
    int (*sync)(int fd);
    int (*rename)(int dir_fd, const char *from, const char *to);
};

struct tc_outbox_config {
    const char *dir;           /* data_dir/outbox */
    const char *file_path;     /* NDJSON, appended; NULL or "": none; "-": standard output */
    const char *otlp_endpoint; /* "http://host:4318/v1/logs"; NULL or "": none */
    const char *otlp_headers;  /* "Name: value" lines; NULL */
    int64_t otlp_timeout_ns;
    int64_t backoff_min_ns;
    int64_t backoff_max_ns;
    uint64_t queue_bytes_max; /* undelivered verdicts on disk; beyond it the oldest are dropped and
                                 counted for that output only */
    const char *instance_id;  /* service.instance.id of what is sent; NULL: the host's name */
    size_t marks_max; /* identities of incidents kept for a restart: resolved ones and then those
                         told longest ago go first; 0: TC_OUTBOX_MARKS_MAX */
    uint64_t compact_bytes; /* the log is compacted beyond this; 0: 8 MiB */
    int64_t file_sync_ns;   /* the file is synced so long after it was written; 0: half a second */
    bool is_pulled;         /* the warehouse is an output too: see tc_outbox_pull */
    const struct tc_alert_settings *alerts; /* NULL: nobody is alerted */
    struct tc_outbox_io io;
};

/* TC_E_UNSUPPORTED when the outbox in `dir` was written by a newer program. Changes nothing; one
 * that is not there is fine. */
TC_CHECKED tc_status tc_outbox_check_version(const char *dir, struct tc_error *err);

/*
 * Opens the log, recovers (a torn tail is cut), and gives `restore` the latest mark of each
 * incident. Does not deliver yet.
 */
TC_CHECKED tc_status tc_outbox_open(const struct tc_outbox_config *config,
                                    tc_status (*restore)(void *context,
                                                         const struct tc_incident_mark *mark),
                                    void *context, struct tc_outbox **out_outbox,
                                    struct tc_error *err);
/* Starts the threads that deliver. */
TC_CHECKED tc_status tc_outbox_start(struct tc_outbox *o, struct tc_error *err);
/* New outputs or times (SIGHUP). Strings are copied. */
void tc_outbox_configure(struct tc_outbox *o, const struct tc_outbox_config *config);

/*
 * Takes one verdict: `json` is its line without the newline. Copies. Never blocks for the disk.
 * arrival_ns: when the request that led to it came, wall clock, for the latency; 0 unknown.
 * TC_E_LIMIT: TC_OUTBOX_QUEUE_MAX waits for the disk already; nothing was taken, try again later.
 * TC_E_UNSUPPORTED: more than TC_OUTBOX_RECORD_MAX.
 */
TC_CHECKED tc_status tc_outbox_put(struct tc_outbox *o, const struct tc_incident_mark *mark,
                                   struct tc_slice json, int64_t arrival_ns);

/*
 * Verdicts are numbered as they are taken, across restarts. What the next one will be (the thread
 * that puts them), and the first that is not durable yet (any thread).
 */
uint64_t tc_outbox_next(const struct tc_outbox *o);
uint64_t tc_outbox_stored(struct tc_outbox *o);

/*
 * Reads the log: gives `take` the durable verdicts from number `from` on, in order, until so many
 * bytes were given (the last may be over it) or `take` fails, and says with which number to go on.
 * *out_is_gap: that one was compacted away, or the log never had it. Any thread; reads the disk.
 */
TC_CHECKED tc_status tc_outbox_read(struct tc_outbox *o, uint64_t from, size_t bytes_max,
                                    tc_status (*take)(void *context, uint64_t number,
                                                      struct tc_slice json),
                                    void *context, uint64_t *out_next, bool *out_is_gap);

/* Where a pull ended. */
struct tc_outbox_place {
    uint64_t next;
    uint64_t at;
    uint64_t turn;
    uint64_t count;
    uint64_t bytes;
};

/*
 * Gives `take` the next durable verdicts for the warehouse, oldest first, at most max of them, and
 * says where it ended. The same come again until tc_outbox_pulled says that they are done with, in
 * the next process too. A failure of `take` ends it: what it failed at is given again. One thread.
 */
TC_CHECKED tc_status tc_outbox_pull(struct tc_outbox *o, size_t max,
                                    tc_status (*take)(void *context, struct tc_slice json,
                                                      int64_t taken_ns),
                                    void *context, struct tc_outbox_place *out_place);
void tc_outbox_pulled(struct tc_outbox *o, const struct tc_outbox_place *place);

/* Waits until everything taken is durable and in the file, or the time is over; stops; closes. */
void tc_outbox_close(struct tc_outbox *o, int64_t wait_ns);

struct tc_outbox_stats {
    uint64_t taken;
    uint64_t written;  /* lines in the file */
    uint64_t exported; /* records accepted downstream */
    uint64_t retries;
    uint64_t rejected;     /* refused for good by the downstream */
    uint64_t dropped_file; /* by queue_bytes_max */
    uint64_t dropped_otlp;
    uint64_t dropped_pull;
    uint64_t pending_file;
    uint64_t pending_otlp;
    uint64_t pending_pull; /* for the warehouse; waiting is not durable yet */
    uint64_t waiting;
    uint64_t errors;     /* of the disk */
    uint64_t refused;    /* tc_outbox_put said TC_E_LIMIT */
    uint64_t damaged;    /* records of the log that could not be read, and were skipped */
    uint64_t torn_bytes; /* cut from the end of the log at start */
    uint64_t compactions;
    uint64_t log_bytes; /* on disk now */
    uint64_t incidents; /* whose identity is kept */
};
void tc_outbox_stats(struct tc_outbox *o, struct tc_outbox_stats *out);

/* Of one receiver of alerts, since the process began. */
struct tc_alert_output_stats {
    char name[64];
    const char *type;   /* "alertmanager" */
    uint64_t delivered; /* alerts that it took */
    uint64_t refused;   /* that it refused for good */
    uint64_t retries;   /* requests that are to be made again */
    uint64_t waiting;   /* beginnings, escalations and ends that it was not told yet */
    int64_t oldest_ns;  /* since when the first of them waits, wall clock; 0 */
    int64_t failing_ns; /* since when it does not answer as it should; 0: it does */
    char error[160];    /* why */
};
/* One for each receiver, at most max; returns how many. */
size_t tc_outbox_alert_stats(struct tc_outbox *o, struct tc_alert_output_stats *out, size_t max);

#endif
