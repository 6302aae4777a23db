/* SPDX-License-Identifier: Apache-2.0 */
#include "source/files/dumps.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/json/json.h"
#include "base/os/io.h"
#include "base/table/grow.h"
#include "source/files/priv.h"
#include "source/text_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The pickle's first opcode from protocol 2 on, and its last. */
#define PICKLE_BEGIN '\x80'
#define PICKLE_END '.'
/* A file that is gone for so long is forgotten. */
#define FORGET_NS (600 * TC_SECOND)
/* A file that does not change and is not complete after this is said. */
#define TORN_NS (60 * TC_SECOND)
#define ENTRIES_MAX ((size_t)1 << 20)

/* What a file was when it was looked at. */
struct shape {
    struct tc__file_id id;
    uint64_t size;
    int64_t mtime_ns;
};

struct dump {
    char *path;
    uint64_t hash;
    const struct tc__glob *glob; /* NULL: known from its position only */
    struct tc__matched matched;
    struct shape seen;  /* at the last look */
    struct shape taken; /* when it was stored; size 0 and all: never */
    bool is_taken;
    bool is_there;
    bool is_torn;     /* it was said that it is not complete */
    int64_t since_ns; /* monotonic: when it came to be as it is, or was found gone */
};

struct dumps {
    struct tc_dumps_config config;
    struct tc__glob globs[TC__GLOBS_MAX];
    size_t glob_count;
    struct dump *items; /* by hash */
    size_t count;
    size_t cap;
    uint64_t refused;
    struct tc_source_port *port;
};

static void destroy(void *state)
{
    struct dumps *d = state;
    if (d == NULL) {
        return;
    }
    for (size_t i = 0; i < d->count; i++) {
        free(d->items[i].path);
    }
    for (size_t i = 0; i < d->glob_count; i++) {
        tc__glob_fini(&d->globs[i]);
    }
    free(d->items);
    free(d);
}

tc_status tc_dumps_create(const struct tc_dumps_config *config, void **out_state,
                          struct tc_error *err)
{
    struct dumps *d = calloc(1, sizeof *d);
    struct tc_slice lines = config->paths;
    tc_status status = d == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for dumps") : TC_OK;
    while (status == TC_OK && lines.len > 0) {
        struct tc_slice line = tc_slice_cut(lines, '\n', &lines);
        status = d->glob_count == TC__GLOBS_MAX
                     ? tc_fail(err, TC_E_USAGE, 0, "at most %d paths", TC__GLOBS_MAX)
                     : tc__glob_parse(line, &d->globs[d->glob_count], err);
        d->glob_count += status == TC_OK;
    }
    if (status != TC_OK) {
        destroy(d);
        return status;
    }
    d->config = *config;
    d->config.paths = TC_EMPTY; /* the caller's */
    *out_state = d;
    return TC_OK;
}

/* ---- whole or not ---- */

static bool is_json(struct tc_slice text)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct tc_error ignored;
    bool is_whole = parser != NULL && tc_json_parse(parser, text, &root, &ignored) == TC_OK;
    tc_json_parser_destroy(parser);
    return is_whole;
}

bool tc_dump_is_whole(struct tc_slice bytes)
{
    if (bytes.len < 2) {
        return false;
    }
    if (bytes.ptr[0] == PICKLE_BEGIN) {
        return bytes.ptr[bytes.len - 1] == PICKLE_END;
    }
    return (bytes.ptr[0] == '{' || bytes.ptr[0] == '[') && is_json(bytes);
}

/* ---- the table ---- */

/* Where it is, or where it would be. Paths with one hash are told apart by the caller. */
static size_t find_place(const struct dumps *d, uint64_t hash, struct tc_slice path)
{
    size_t low = 0;
    size_t high = d->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->items[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low < d->count && d->items[low].hash == hash &&
           !tc_slice_eq(tc_slice_cstr(d->items[low].path), path)) {
        low++;
    }
    return low;
}

/* The dump of that path, made if there is none; NULL: no memory, or too many. */
static struct dump *get_dump(struct dumps *d, struct tc_slice path)
{
    uint64_t hash = tc_slice_hash(path, 0);
    size_t at = find_place(d, hash, path);
    if (at < d->count && d->items[at].hash == hash) {
        return &d->items[at];
    }
    char *copy = tc__text_copy(path);
    if (copy == NULL || tc_grow_items(d->items, d->cap, d->count + 1, TC_DUMPS_MAX) != TC_OK) {
        free(copy);
        return NULL;
    }
    memmove(&d->items[at + 1], &d->items[at], (d->count - at) * sizeof *d->items);
    d->items[at] = (struct dump){.path = copy, .hash = hash, .since_ns = tc_mono_ns()};
    d->count++;
    return &d->items[at];
}

static void write_stream(struct tc_buf *b, const struct dump *one)
{
    tc_buf_hex(b, one->hash, 16);
}

/* A position is that of a file that was read to its end; its first bytes do not matter. */
static void write_position(struct tc_buf *b, const struct dump *one, const struct shape *shape)
{
    struct tc__log log = {.path = one->path};
    struct tc__gen gen = {.id = shape->id, .mtime_ns = shape->mtime_ns};
    tc__position_write(b, &log, &gen, shape->size);
}

static void restore(void *of, struct tc_slice stream, struct tc_slice position)
{
    struct dumps *d = of;
    struct tc__gen gen;
    char path[TC__FILE_PATH_MAX + 1];
    (void)stream;
    if (!tc__position_read(position, &gen, path)) {
        return;
    }
    struct dump *one = get_dump(d, tc_slice_cstr(path));
    if (one != NULL) {
        one->taken = (struct shape){gen.id, gen.offset, gen.mtime_ns};
        one->is_taken = true;
    }
}

static void forget_gone(struct dumps *d, int64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct dump *one = &d->items[i];
        if (one->is_there || now_ns - one->since_ns < FORGET_NS) {
            d->items[kept++] = *one;
            continue;
        }
        char stream[24];
        struct tc_buf b = tc_buf_make(stream, sizeof stream);
        write_stream(&b, one);
        tc_port_keep(d->port, tc_buf_slice(&b), TC_EMPTY);
        free(one->path);
    }
    d->count = kept;
}

/* ---- looking ---- */

static void take_name(struct dumps *d, const struct tc__dir *dir, const char *name)
{
    char text[TC__FILE_PATH_MAX + 2];
    struct tc__matched matched = dir->matched;
    if (!tc__glob_matches(dir->glob, dir->glob->part_count - 1, name, &matched)) {
        return;
    }
    int n = snprintf(text, sizeof text, "%s/%s", dir->path, name);
    struct dump *one =
        n > 0 && n <= TC__FILE_PATH_MAX ? get_dump(d, tc_slice_make(text, (size_t)n)) : NULL;
    if (one == NULL) {
        d->refused++;
        return;
    }
    one->glob = one->glob == NULL ? dir->glob : one->glob;
    one->matched = matched;
}

static void find_dumps(struct dumps *d)
{
    struct tc__dirs dirs = {0};
    for (size_t i = 0; i < d->glob_count; i++) {
        d->refused += tc__glob_dirs(&d->globs[i], &dirs) != TC_OK;
    }
    for (size_t i = 0; i < dirs.count; i++) {
        DIR *dir = opendir(dirs.items[i].path[0] == '\0' ? "/" : dirs.items[i].path);
        const struct dirent *e = NULL;
        for (size_t n = 0; dir != NULL && n < ENTRIES_MAX && (e = readdir(dir)) != NULL; n++) {
            if (e->d_type != DT_DIR) {
                take_name(d, &dirs.items[i], e->d_name);
            }
        }
        if (dir != NULL) {
            (void)closedir(dir);
        }
    }
    tc__dirs_fini(&dirs);
}

static bool shape_eq(const struct shape *a, const struct shape *b)
{
    return tc__id_eq(&a->id, &b->id) && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* Its bytes, if they are those of a whole dump and it did not change meanwhile; NULL otherwise. */
static char *read_whole(struct dumps *d, const struct dump *one)
{
    struct tc__stat st;
    char *bytes = NULL;
    bool is_whole = false;
    int fd = open(one->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        d->refused++;
        return NULL;
    }
    bytes = malloc((size_t)one->seen.size + 1);
    if (bytes != NULL) {
        ssize_t n = tc_io_read(fd, bytes, (size_t)one->seen.size + 1);
        struct tc_slice all = tc_slice_make(bytes, n < 0 ? 0 : (size_t)n);
        is_whole = all.len == one->seen.size && tc_dump_is_whole(all) && tc__fd_stat(fd, &st) &&
                   st.mtime_ns == one->seen.mtime_ns && tc__id_eq(&st.id, &one->seen.id);
    }
    (void)close(fd);
    if (!is_whole) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* TC_E_AGAIN: the daemon ends. */
static tc_status put(struct dumps *d, struct dump *one, const char *bytes)
{
    char stream_text[24];
    char position_text[TC_SOURCE_POSITION_MAX];
    struct tc_buf stream = tc_buf_make(stream_text, sizeof stream_text);
    struct tc_buf position = tc_buf_make(position_text, sizeof position_text);
    write_stream(&stream, one);
    write_position(&position, one, &one->seen);
    const struct tc__matched *m = &one->matched;
    struct tc_source_chunk chunk = {
        .name = tc_slice_cstr(one->path),
        .format = one->glob->format,
        .node = m->node[0] != '\0' ? tc_slice_cstr(m->node) : one->glob->node,
        .job = m->job[0] != '\0' ? tc_slice_cstr(m->job) : one->glob->job,
        .stream = tc_buf_slice(&stream),
        .position = tc_buf_slice(&position),
        .body = tc_slice_make(bytes, (size_t)one->seen.size),
        .records = 1,
        .is_file = true,
    };
    TC_TRY(tc_port_put(d->port, &chunk, 1));
    one->taken = one->seen;
    one->is_taken = true;
    return TC_OK;
}

static tc_status look_at(struct dumps *d, struct dump *one, int64_t now_ns)
{
    struct tc__stat st;
    bool is_there = one->glob != NULL && tc__file_stat(one->path, &st) && st.is_regular;
    if (!is_there) {
        one->since_ns = one->is_there ? now_ns : one->since_ns;
        one->is_there = false;
        return TC_OK;
    }
    struct shape now = {st.id, st.size, st.mtime_ns};
    bool is_same = one->is_there && shape_eq(&now, &one->seen);
    one->is_there = true;
    if (!is_same) {
        one->seen = now;
        one->since_ns = now_ns;
        one->is_torn = false;
        return TC_OK;
    }
    if ((one->is_taken && shape_eq(&now, &one->taken)) || now.size == 0 || one->is_torn) {
        return TC_OK;
    }
    if (now.size > TC_DUMP_BYTES_MAX) {
        one->is_torn = true;
        tc_port_lost(d->port, 1);
        return TC_OK;
    }
    char *bytes = read_whole(d, one);
    tc_status status = bytes == NULL ? TC_OK : put(d, one, bytes);
    if (bytes == NULL && now_ns - one->since_ns > TORN_NS) {
        one->is_torn = true; /* until it changes */
        tc_port_lost(d->port, 1);
    }
    free(bytes);
    return status;
}

/* ---- the thread ---- */

static void tell_health(struct dumps *d)
{
    uint64_t there = 0;
    const struct dump *torn = NULL;
    for (size_t i = 0; i < d->count; i++) {
        there += d->items[i].is_there;
        torn = d->items[i].is_there && d->items[i].is_torn ? &d->items[i] : torn;
    }
    tc_port_watches(d->port, there);
    if (d->refused > 0) {
        tc_port_fail(d->port, "%llu dumps or folders cannot be read, or are too many",
                     (unsigned long long)d->refused);
    } else if (torn != NULL) {
        tc_port_fail(d->port, "%.160s is not complete, or longer than 64 MiB", torn->path);
    } else {
        tc_port_ok(d->port);
    }
}

static void run(void *state, struct tc_source_port *port)
{
    struct dumps *d = state;
    d->port = port;
    tc_port_positions(port, restore, d);
    while (!tc_port_is_stopping(port)) {
        int64_t now_ns = tc_mono_ns();
        d->refused = 0;
        find_dumps(d);
        for (size_t i = 0; i < d->count; i++) {
            if (look_at(d, &d->items[i], now_ns) != TC_OK) {
                return;
            }
        }
        forget_gone(d, now_ns);
        tell_health(d);
        (void)tc_port_wait(port, -1, d->config.poll_ns);
    }
}

const struct tc_source_kind tc_source_dumps = {.name = "dumps", .run = run, .destroy = destroy};
