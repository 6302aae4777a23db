/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are followed. A log is a path; a generation is what one file there was, from its
 * creation or truncation on. One log has a current generation, and older ones that were rotated
 * away: some still to be read to their end, others only remembered, so that they are known when
 * they are met again under another name.
 */
#ifndef TC_SOURCE_FILES_PRIV_H
#define TC_SOURCE_FILES_PRIV_H

#include "base/buf.h"
#include "base/time.h"
#include "source/files/files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of a pattern's path, and patterns. */
#define TC__GLOB_PARTS 32
#define TC__GLOBS_MAX 256
/* Paths that are longer are left out. */
#define TC__FILE_PATH_MAX TC_SOURCE_LABEL_MAX
/* A generation is told from others by so many of its first bytes. */
#define TC__FINGER_MAX 1024
/* Generations of one log that are remembered. */
#define TC__GENS_MAX 64
/* Files beside a log that are looked at for rotated ones. */
#define TC__SIBLINGS_MAX 4096
/* Who renamed a file may go on writing to it for a while. */
#define TC__LINGER_NS (10 * TC_SECOND)

/* ---- patterns ---- */

struct tc__glob {
    char *text;
    struct tc_slice parts[TC__GLOB_PARTS];
    size_t part_count;
    struct tc_slice format;
    struct tc_slice node;
    struct tc_slice job;
    struct tc_slice tz;
};

/* What {node} and {job} matched so far. */
struct tc__matched {
    char node[128];
    char job[128];
};

/* A directory in which files of a pattern may be. */
struct tc__dir {
    char *path; /* without a slash at the end; "" is the root */
    struct tc__glob *glob;
    struct tc__matched matched;
    int watch; /* inotify's number; -1 */
    bool is_dirty;
};

struct tc__dirs {
    struct tc__dir *items;
    size_t count;
    size_t cap;
};

TC_CHECKED tc_status tc__glob_parse(struct tc_slice line, struct tc__glob *out,
                                    struct tc_error *err);
void tc__glob_fini(struct tc__glob *g);
/* Whether a name matches part i; adds what it captures. */
bool tc__glob_matches(const struct tc__glob *g, size_t i, const char *name,
                      struct tc__matched *io_matched);
/* Appends the directories of the last part. What is no directory, or may not be read, is not
 * there. TC_E_NOMEM, TC_E_LIMIT. */
TC_CHECKED tc_status tc__glob_dirs(struct tc__glob *g, struct tc__dirs *io_dirs);
void tc__dirs_fini(struct tc__dirs *d);

/* ---- generations ---- */

enum tc__gen_state {
    TC__GEN_CURRENT,  /* the file at the log's path */
    TC__GEN_DRAINING, /* rotated away; to be read to its end */
    TC__GEN_RESTORED, /* known from its position; where it is has to be found out */
    TC__GEN_DONE,
};

/* A file, as the system tells it apart. */
struct tc__file_id {
    uint64_t device;
    uint64_t inode;
    int64_t born_ns; /* 0: the file system does not say */
};

struct tc__gen {
    uint64_t number; /* its stream: larger than those before */
    enum tc__gen_state state;
    struct tc__file_id id;
    uint64_t offset; /* all before it is durable */
    uint64_t finger; /* hash of the first finger_len bytes */
    uint32_t finger_len;
    int64_t mtime_ns; /* of the file, when bytes of it were last taken; before, when first seen */
    int64_t seen_ns;  /* the same at the last look */
    int fd;
    bool is_kept;    /* it has a position that is stored */
    bool is_at_end;  /* nothing but an unfinished line is left of what was seen */
    int64_t gone_ns; /* monotonic: when it was rotated away */
};

/* A path that is followed. Invariant: at most one generation is current, and it is the last. */
struct tc__log {
    char *path;
    uint64_t hash;               /* of the path */
    const struct tc__glob *glob; /* NULL: known from positions, and not found yet */
    struct tc__matched matched;
    struct tc__gen *gens;
    size_t count;
    size_t cap;
    bool is_there;      /* at the last look */
    bool is_checked;    /* has to be looked at */
    bool is_ready;      /* may have bytes to read */
    bool is_lingering;  /* rotated files may still be written to */
    bool is_alias;      /* the same file as another log's */
    bool is_refused;    /* cannot be opened */
    uint64_t gone_seen; /* gone_count when is_alias was found out */
    int64_t gone_ns;    /* monotonic: since when nothing is there; 0: something is */
    int64_t read_ns;    /* monotonic */
};

struct tc__files {
    struct tc_files_config config;
    char *node;
    char *tz;
    struct tc__glob globs[TC__GLOBS_MAX];
    size_t glob_count;
    struct tc__dirs dirs;
    struct tc__log **logs;
    size_t count;
    size_t cap;
    uint32_t *slots; /* index in logs + 1, by the hash of the path */
    size_t slot_count;
    size_t turn; /* where the next round begins */
    size_t open_count;
    uint64_t last_number;
    bool was_restored; /* there were positions: this is not the first look ever */
    bool is_first_look;
    bool has_new; /* logs that were not known before: their positions have to be saved */
    int inotify_fd;
    uint64_t gone_count; /* how often a path has lost its file */
    uint64_t left_out;   /* paths too long, or too many */
    struct tc_source_port *port;
    struct tc__round *round;
};

struct tc__stat {
    struct tc__file_id id;
    uint64_t size;
    int64_t mtime_ns;
    int64_t changed_ns; /* written to, renamed, ... */
    bool is_regular;
};

bool tc__file_stat(const char *path, struct tc__stat *out);
bool tc__fd_stat(int fd, struct tc__stat *out);
bool tc__id_eq(const struct tc__file_id *a, const struct tc__file_id *b);
/* Its first bytes; how many, 0 when it cannot be read. */
size_t tc__finger_read(int fd, char out[TC__FINGER_MAX]);
/* Whether bytes begin as the generation does. */
bool tc__finger_fits(const struct tc__gen *g, const char *head, size_t len);
/* Takes more of the first bytes, up to `len`. */
void tc__finger_extend(struct tc__gen *g, const char *head, size_t len);

/* Adds a generation: the current one at the end, one that was found before those that are newer.
 * NULL: no memory. */
struct tc__gen *tc__gen_add(struct tc__files *f, struct tc__log *log, enum tc__gen_state state,
                            const struct tc__stat *st);
void tc__gen_close(struct tc__files *f, struct tc__gen *g);
/* The file of a generation, opened if it is not; false: it is not there, or another one. */
bool tc__gen_open(struct tc__files *f, const struct tc__log *log, struct tc__gen *g);
struct tc__gen *tc__log_current(struct tc__log *log);
/* Takes those that are not needed any more away. */
void tc__log_prune(struct tc__files *f, struct tc__log *log);

/* "DEVICE INODE BORN OFFSET FINGER_LEN FINGER MTIME PATH", and back. */
void tc__position_write(struct tc_buf *b, const struct tc__log *log, const struct tc__gen *g,
                        uint64_t offset);
bool tc__position_read(struct tc_slice text, struct tc__gen *out, char path[TC__FILE_PATH_MAX + 1]);

/* ---- the table ---- */

struct tc__log *tc__logs_find(const struct tc__files *f, struct tc_slice path);
/* There is none of that path. NULL: no memory, or too many. */
struct tc__log *tc__logs_add(struct tc__files *f, struct tc_slice path);
/* Takes those away that were gone for long. */
void tc__logs_forget(struct tc__files *f, int64_t now_ns);
void tc__logs_fini(struct tc__files *f);

/* ---- rotation ---- */

/* Whether a name is what a rotated file of `base` is called, and may be read. */
bool tc__is_rotated(struct tc_slice base, struct tc_slice name);
/* The name that a rotated file had before; empty: it is none. */
struct tc_slice tc__rotated_from(struct tc_slice name, char *out, size_t size);
/* What is at the path is not what was: finds where that went, and what came in between. */
void tc__log_rotate(struct tc__files *f, struct tc__log *log);
/* The file at the path was cut and has grown again: what was read of it is no part of it. */
void tc__log_cut(struct tc__files *f, struct tc__log *log);
/* Compares a log with what is at its path now. */
void tc__log_check(struct tc__files *f, struct tc__log *log);

/* ---- reading ---- */

TC_CHECKED tc_status tc__round_create(struct tc__files *f);
void tc__round_destroy(struct tc__files *f);
/* One round over all logs that may have something. *out_more: there is more. TC_E_AGAIN: the end.
 */
TC_CHECKED tc_status tc__round_read(struct tc__files *f, bool *out_more);

#endif
