/* SPDX-License-Identifier: Apache-2.0 */
#include "source/journal.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/os/library.h"
#include "base/table/grow.h"
#include "source/text_priv.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libsystemd.so.0"
/* Flags of sd_journal_open, by the ABI. */
#define LOCAL_ONLY 1
#define BODY_MAX ((size_t)128 << 10)
/* One message; more of it is cut. */
#define MESSAGE_MAX ((size_t)32 << 10)
/* A prefix of a line: time, host, identifier and process. */
#define PREFIX_MAX 512
#define GATHER_NS (TC_SECOND / 10)
#define RETRY_NS (10 * TC_SECOND)
/* Files that are new are noticed by inotify; where that does not work, so often. */
#define LOOK_NS (5 * TC_SECOND)
#define STREAM TC_LIT("journal")
/* Readers of these units' lines exist (docs/formats.md). */
#define UNITS                                                                               \
    "nvidia-fabricmanager.service\nnvidia-persistenced.service\nnvidia-dcgm.service\n"      \
    "kubelet.service\ncontainerd.service\nslurmd.service\nslurmctld.service\nsystemd-oomd." \
    "service\n"

struct sd_journal;

struct functions {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): these are parts of a declaration */
#define FUNCTION(result, name, parameters) result(*name) parameters;
#include "source/journal_functions.def"
#undef FUNCTION
};

static const char *const NAMES[] = {
#define FUNCTION(result, name, parameters) #name,
#include "source/journal_functions.def"
#undef FUNCTION
};

/* Invariant: body[0..used) are whole lines; cursor is that of the last of them. */
struct journal {
    char *directory;
    char *units;
    char *node;
    bool kernel;
    int64_t back_ns;
    bool is_on_new; /* the entry it stands on was not taken yet */
    void *library;
    struct functions sd;
    struct sd_journal *journal;
    char *restored; /* the cursor to go on behind; NULL: none */
    char *cursor;   /* of the last entry in body */
    uint64_t records;
    size_t used;
    char body[BODY_MAX + 2 * MESSAGE_MAX];
};

static void close_journal(struct journal *j)
{
    if (j->journal != NULL) {
        j->sd.sd_journal_close(j->journal);
        j->journal = NULL;
    }
}

static void destroy(void *state)
{
    struct journal *j = state;
    if (j == NULL) {
        return;
    }
    close_journal(j);
    if (j->library != NULL) {
        tc_library_close(j->library);
    }
    free(j->directory);
    free(j->units);
    free(j->node);
    free(j->restored);
    free(j->cursor);
    free(j);
}

tc_status tc_journal_create(const struct tc_journal_config *config, void **out_state,
                            struct tc_error *err)
{
    struct journal *j = calloc(1, sizeof *j);
    if (j == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the journal");
    }
    struct tc_slice units = config->units.len > 0 ? config->units : TC_LIT(UNITS);
    j->directory = strdup(config->directory);
    j->units = tc__text_copy(units);
    j->node = tc__text_copy(config->node);
    j->kernel = config->kernel;
    j->back_ns = config->back_ns;
    if (j->directory == NULL || j->units == NULL || j->node == NULL) {
        destroy(j);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the journal");
    }
    *out_state = j;
    return TC_OK;
}

static bool has_entries(const char *path)
{
    DIR *dir = opendir(path);
    bool is_any = false;
    for (const struct dirent *e = NULL; dir != NULL && (e = readdir(dir)) != NULL;) {
        is_any = is_any || e->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return is_any;
}

bool tc_journal_is_there(void)
{
    return has_entries("/var/log/journal") || has_entries("/run/log/journal");
}

/* ---- opening ---- */

static void restore(void *of, struct tc_slice stream, struct tc_slice position)
{
    struct journal *j = of;
    if (tc_slice_eq(stream, STREAM)) {
        free(j->restored);
        j->restored = tc__text_copy(position);
    }
}

static bool load(struct journal *j, struct tc_source_port *port)
{
    struct tc_error err = {0};
    if (j->library == NULL) {
        j->library = tc_library_open(LIBRARY, &err);
    }
    if (j->library == NULL) {
        tc_port_fail(port, "%s; install the package libsystemd0", err.message);
        return false;
    }
    const char *missing = tc_library_bind(j->library, NAMES, TC_COUNT(NAMES), &j->sd);
    if (missing != NULL) {
        tc_port_fail(port, LIBRARY " has no %s: it is too old", missing);
    }
    return missing == NULL;
}

/* The kernel's messages, or those of a unit, or of its manager about it. */
static int add_matches(struct journal *j)
{
    struct tc_slice units = tc_slice_cstr(j->units);
    int rc = 0;
    if (j->kernel) {
        rc = j->sd.sd_journal_add_match(j->journal, "_TRANSPORT=kernel", 0);
    }
    while (units.len > 0 && rc >= 0) {
        char text[300];
        struct tc_slice unit = tc_slice_cut(units, '\n', &units);
        struct tc_buf b = tc_buf_make(text, sizeof text);
        bool is_unit = tc_slice_find_byte(unit, '=') == TC_NPOS;
        (void)tc_format(&b, "{}{}", is_unit ? "_SYSTEMD_UNIT=" : "", unit);
        rc = j->sd.sd_journal_add_disjunction(j->journal);
        rc = rc < 0 || b.overflowed ? rc : j->sd.sd_journal_add_match(j->journal, text, b.len);
    }
    return rc;
}

/* Behind the entry that was stored last. One that was vacuumed away is gone, and the next that is
 * there follows. */
static int seek(struct journal *j)
{
    j->is_on_new = false;
    if (j->restored == NULL) {
        int64_t from_ns = tc_wall_ns() - j->back_ns;
        return j->sd.sd_journal_seek_realtime_usec(j->journal,
                                                   from_ns < 0 ? 0 : (uint64_t)from_ns / 1000);
    }
    int rc = j->sd.sd_journal_seek_cursor(j->journal, j->restored);
    rc = rc < 0 ? rc : j->sd.sd_journal_next(j->journal);
    j->is_on_new = rc > 0 && j->sd.sd_journal_test_cursor(j->journal, j->restored) <= 0;
    return rc;
}

static bool open_journal(struct journal *j, struct tc_source_port *port)
{
    char text[128];
    if (!load(j, port)) {
        return false;
    }
    int rc = j->directory[0] == '\0'
                 ? j->sd.sd_journal_open(&j->journal, LOCAL_ONLY)
                 : j->sd.sd_journal_open_directory(&j->journal, j->directory, 0);
    if (rc < 0) {
        j->journal = NULL;
    }
    rc = rc < 0 ? rc : add_matches(j);
    rc = rc < 0 ? rc : j->sd.sd_journal_get_fd(j->journal);
    rc = rc < 0 ? rc : seek(j);
    if (rc < 0) {
        close_journal(j);
        tc_port_fail(port, "the journal cannot be read: %s%s", strerror_r(-rc, text, sizeof text),
                     rc == -EACCES || rc == -EPERM
                         ? "; add the daemon's user to the group systemd-journal"
                         : "");
        return false;
    }
    tc_port_ok(port);
    tc_port_watches(port, 1);
    return true;
}

/* ---- entries ---- */

/* A field of the entry; empty without. Of the journal, until the next call. */
static struct tc_slice field(struct journal *j, const char *name)
{
    const void *data = NULL;
    size_t size = 0;
    size_t skip = strlen(name) + 1;
    if (j->sd.sd_journal_get_data(j->journal, name, &data, &size) < 0 || size < skip) {
        return TC_EMPTY;
    }
    return tc_slice_make((const char *)data + skip, size - skip);
}

/* "2026-11-18T01:02:03.123456Z host kernel: " */
static void write_prefix(struct journal *j, struct tc_buf *b)
{
    uint64_t usec = 0;
    (void)j->sd.sd_journal_get_realtime_usec(j->journal, &usec);
    tc_buf_time(b, usec > INT64_MAX / 1000 ? 0 : (int64_t)usec * 1000);
    struct tc_slice host = tc_slice_head(field(j, "_HOSTNAME"), 255);
    (void)tc_format(b, " {} ", tc_as_printable(host.len > 0 ? host : tc_slice_cstr(j->node)));
    bool is_kernel = tc_slice_eq(field(j, "_TRANSPORT"), TC_LIT("kernel"));
    struct tc_slice ident = tc_slice_head(field(j, "SYSLOG_IDENTIFIER"), 64);
    if (is_kernel) {
        tc_buf_lit(b, "kernel: ");
        return;
    }
    /* A program may call itself as it likes, but not the kernel. */
    bool is_claim = ident.len == 0 || tc_slice_eq(ident, TC_LIT("kernel"));
    (void)tc_format(b, "{}", tc_as_printable(is_claim ? TC_LIT("unknown") : ident));
    struct tc_slice pid = tc_slice_head(field(j, "_PID"), 16);
    (void)tc_format(b, "{}: ", tc_when(pid.len > 0, "[{}]", tc_as_printable(pid)));
}

/* Every line of a message has the prefix: none can pass for another program's. */
static void take_entry(struct journal *j, struct tc_source_port *port)
{
    char prefix_text[PREFIX_MAX];
    struct tc_buf prefix = tc_buf_make(prefix_text, sizeof prefix_text);
    struct tc_buf b = tc_buf_make(j->body + j->used, sizeof j->body - j->used);
    write_prefix(j, &prefix);
    struct tc_slice message = field(j, "MESSAGE");
    if (message.len > MESSAGE_MAX) {
        tc_port_lost(port, 1);
        message.len = MESSAGE_MAX;
    }
    do {
        struct tc_slice line = tc_slice_cut(message, '\n', &message);
        if (sizeof j->body - j->used - b.len < prefix.len + line.len + 1) {
            tc_port_lost(port, 1); /* a message of nothing but line ends */
            break;
        }
        tc_buf_str(&b, tc_buf_slice(&prefix));
        tc_buf_str(&b, line);
        tc_buf_char(&b, '\n');
    } while (message.len > 0);
    j->used += b.len;
    j->records++;
}

/* Takes as many as fit; false: the journal cannot be read. */
static bool take_entries(struct journal *j, struct tc_source_port *port, bool *out_more)
{
    int rc = 1;
    *out_more = true;
    while (j->used < BODY_MAX && (rc = j->is_on_new ? 1 : j->sd.sd_journal_next(j->journal)) > 0) {
        char *cursor = NULL;
        j->is_on_new = false;
        if (j->sd.sd_journal_get_cursor(j->journal, &cursor) < 0) {
            continue;
        }
        take_entry(j, port);
        free(j->cursor);
        j->cursor = cursor;
    }
    *out_more = rc > 0;
    if (rc < 0) {
        char text[128];
        tc_port_fail(port, "the journal cannot be read on: %s", strerror_r(-rc, text, sizeof text));
    }
    return rc >= 0;
}

/* False: the daemon ends. */
static bool put(struct journal *j, struct tc_source_port *port)
{
    if (j->used == 0) {
        return true;
    }
    struct tc_source_chunk chunk = {
        .name = j->directory[0] == '\0' ? TC_LIT("journal") : tc_slice_cstr(j->directory),
        .node = tc_slice_cstr(j->node),
        .stream = STREAM,
        .position = tc_slice_cstr(j->cursor),
        .body = tc_slice_make(j->body, j->used),
        .records = j->records,
    };
    if (tc_port_put(port, &chunk, 1) != TC_OK) {
        return false;
    }
    free(j->restored);
    j->restored = j->cursor;
    j->cursor = NULL;
    j->used = j->records = 0;
    return true;
}

/* Until it has to be opened again, or the end: false. */
static bool follow(struct journal *j, struct tc_source_port *port)
{
    int fd = j->sd.sd_journal_get_fd(j->journal);
    while (!tc_port_is_stopping(port)) {
        bool more = false;
        bool is_good = take_entries(j, port, &more);
        tc_port_behind(port, more);
        if (!put(j, port)) {
            return false;
        }
        if (!is_good) {
            return true;
        }
        if (!more) {
            if (tc_port_wait(port, fd, LOOK_NS)) {
                (void)tc_port_wait(port, -1, GATHER_NS);
            }
            if (j->sd.sd_journal_process(j->journal) < 0) {
                return true;
            }
        }
    }
    return false;
}

static void run(void *state, struct tc_source_port *port)
{
    struct journal *j = state;
    tc_port_positions(port, restore, j);
    while (!tc_port_is_stopping(port)) {
        if (open_journal(j, port)) {
            bool go_on = follow(j, port);
            close_journal(j);
            tc_port_watches(port, 0);
            j->used = j->records = 0;
            if (!go_on) {
                return;
            }
        }
        (void)tc_port_wait(port, -1, RETRY_NS);
    }
}

const struct tc_source_kind tc_source_journal = {.name = "journal", .run = run, .destroy = destroy};
