/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/time.h"
#include "observe/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Different messages that are limited at the same time; the program has fewer. */
#define KINDS_MAX 256
/* Room at the end of a line for "cut", "suppressed" and the closing bracket. */
#define LINE_RESERVE 64
#define MESSAGE_MAX 512

/* Invariant: message is NULL or a literal that this slot counts. */
struct kind {
    const char *message;
    int64_t second;      /* that count is about */
    uint64_t count;      /* lines in it */
    uint64_t suppressed; /* lines left out since the last that was written */
};

static const char *const LEVEL_NAMES[] = {
    [TC_LOG_DEBUG] = "debug",
    [TC_LOG_INFO] = "info",
    [TC_LOG_WARN] = "warn",
    [TC_LOG_ERROR] = "error",
};

static struct {
    atomic_int level;
    atomic_bool json;
    atomic_int fd;
    int64_t (*clock)(void);
    pthread_mutex_t lock; /* of kinds */
    struct kind kinds[KINDS_MAX];
} logger = {.level = TC_LOG_INFO, .fd = STDERR_FILENO, .lock = PTHREAD_MUTEX_INITIALIZER};

void tc_log_configure(enum tc_log_level level, bool json)
{
    atomic_store(&logger.level, (int)level);
    atomic_store(&logger.json, json);
}

void tc_log_redirect(int fd, int64_t (*clock)(void))
{
    (void)pthread_mutex_lock(&logger.lock);
    logger.clock = clock;
    memset(logger.kinds, 0, sizeof logger.kinds);
    (void)pthread_mutex_unlock(&logger.lock);
    atomic_store(&logger.fd, fd);
}

bool tc_log_wants(enum tc_log_level level)
{
    return (int)level >= atomic_load_explicit(&logger.level, memory_order_relaxed);
}

/* The slot of a message. Where all are taken, two messages share one: they are limited together. */
static struct kind *kind_of(const char *message)
{
    size_t start = (size_t)tc_slice_hash(tc_slice_cstr(message), 0) % KINDS_MAX;
    for (size_t i = 0; i < KINDS_MAX; i++) {
        struct kind *k = &logger.kinds[(start + i) % KINDS_MAX];
        if (k->message == NULL || strcmp(k->message, message) == 0) {
            k->message = message;
            return k;
        }
    }
    return &logger.kinds[start];
}

/* Whether a line of this message may be written now, and how many were not before it. */
static bool admit(const char *message, int64_t *out_now_ns, uint64_t *out_suppressed)
{
    (void)pthread_mutex_lock(&logger.lock);
    int64_t now_ns = logger.clock == NULL ? tc_wall_ns() : logger.clock();
    struct kind *k = kind_of(message);
    if (k->second != now_ns / TC_SECOND) {
        k->second = now_ns / TC_SECOND;
        k->count = 0;
    }
    bool admitted = k->count < TC_LOG_PER_SECOND_MAX;
    k->count += admitted;
    k->suppressed += !admitted;
    *out_suppressed = admitted ? k->suppressed : 0;
    k->suppressed = admitted ? 0 : k->suppressed;
    (void)pthread_mutex_unlock(&logger.lock);
    *out_now_ns = now_ns;
    return admitted;
}

/* Characters of a logfmt value that needs no quotes. */
static bool is_bare(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_word && (c == '\0' || strchr("_-./:+@,%[]", c) == NULL)) {
            return false;
        }
    }
    return s.len > 0;
}

/* Control characters and bytes that are not UTF-8 as \xNN, the rest as a JSON string. */
static void put_text(struct tc_buf *b, struct tc_slice s, bool json)
{
    char text[TC_LOG_TEXT_MAX * 4];
    struct tc_buf shown = tc_buf_make(text, sizeof text);
    tc_buf_printable(&shown, tc_slice_head(s, TC_LOG_TEXT_MAX));
    if (!json && is_bare(tc_buf_slice(&shown))) {
        tc_buf_str(b, tc_buf_slice(&shown));
    } else {
        tc_buf_json(b, tc_buf_slice(&shown));
    }
}

static void put_key(struct tc_buf *b, const char *key, bool json)
{
    if (json) {
        tc_buf_char(b, b->len == 0 ? '{' : ',');
        tc_buf_json(b, tc_slice_cstr(key));
        tc_buf_char(b, ':');
    } else {
        tc_buf_str(b, b->len == 0 ? TC_EMPTY : TC_LIT(" "));
        tc_buf_str(b, tc_slice_cstr(key));
        tc_buf_char(b, '=');
    }
}

static void put_number(struct tc_buf *b, const char *key, int64_t number, bool json)
{
    put_key(b, key, json);
    tc_buf_i64(b, number);
}

/* Fields up to the first that does not fit. False: there was one. */
static bool put_fields(struct tc_buf *b, const struct tc_log_field *fields, size_t count, bool json)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = b->len;
        if (fields[i].is_number) {
            put_number(b, fields[i].key, fields[i].number, json);
        } else {
            put_key(b, fields[i].key, json);
            put_text(b, fields[i].text, json);
        }
        if (b->overflowed) {
            b->len = before;
            b->overflowed = false;
            return false;
        }
    }
    return true;
}

static void write_line(struct tc_slice line)
{
    ssize_t done = 0;
    do {
        done = write(atomic_load(&logger.fd), line.ptr, line.len);
    } while (done < 0 && errno == EINTR);
    /* A log that cannot be written has nowhere to say so. */
}

void tc_log(enum tc_log_level level, const char *message, const struct tc_log_field *fields,
            size_t count)
{
    char line[TC_LOG_LINE_MAX];
    struct tc_buf b = tc_buf_make(line, sizeof line - LINE_RESERVE);
    int64_t now_ns = 0;
    uint64_t suppressed = 0;
    if (!tc_log_wants(level)) {
        return;
    }
    if (!admit(message, &now_ns, &suppressed)) {
        tc_count(TC_COUNT_LOG_SUPPRESSED, 1);
        return;
    }
    bool json = atomic_load(&logger.json);
    put_key(&b, "time", json);
    tc_buf_str(&b, json ? TC_LIT("\"") : TC_EMPTY);
    tc_buf_time(&b, now_ns);
    tc_buf_str(&b, json ? TC_LIT("\"") : TC_EMPTY);
    put_key(&b, "level", json);
    put_text(&b, tc_slice_cstr(LEVEL_NAMES[level]), json);
    put_key(&b, "msg", json);
    tc_buf_json(&b, tc_slice_head(tc_slice_cstr(message), MESSAGE_MAX));
    bool whole = put_fields(&b, fields, count, json);
    b.cap = sizeof line;
    if (!whole) {
        put_key(&b, "cut", json);
        tc_buf_lit(&b, "true");
    }
    if (suppressed > 0) {
        put_number(&b, "suppressed", (int64_t)suppressed, json);
    }
    tc_buf_str(&b, json ? TC_LIT("}\n") : TC_LIT("\n"));
    write_line(tc_buf_slice(&b));
}
