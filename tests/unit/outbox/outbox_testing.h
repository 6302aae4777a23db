/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the outbox share: a directory, verdicts with numbers in them, and their file.
 */
#ifndef TC_TESTS_OUTBOX_TESTING_H
#define TC_TESTS_OUTBOX_TESTING_H

#include "base/time.h"
#include "outbox/outbox.h"
#include "outbox/outbox_priv.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_LONG (20 * TC_SECOND)
#define TEXT_ROOM ((size_t)1 << 22)
/* The default touches megabytes each time an outbox is opened. */
#define MARKS 4096

static char folder[64];
static char outbox_dir[96];
static char file_path[96];
static struct tc_outbox *box;
static struct tc_error err;

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/tc_outbox_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(outbox_dir, sizeof outbox_dir, "%s/outbox", folder);
    (void)snprintf(file_path, sizeof file_path, "%s/verdicts.ndjson", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    return nftw(folder, take_away, 8, FTW_DEPTH | FTW_PHYS);
}

/* The power does not go in these tests, only the process. */
static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

static struct tc_outbox_config plain_config(void)
{
    return (struct tc_outbox_config){.dir = outbox_dir,
                                     .file_path = file_path,
                                     .otlp_timeout_ns = 5 * TC_SECOND,
                                     .backoff_min_ns = TC_SECOND / 1000,
                                     .backoff_max_ns = TC_SECOND / 100,
                                     .instance_id = "test",
                                     .marks_max = MARKS,
                                     .io = {.sync = no_sync}};
}

/* The verdict of a number: one of some incidents, with a line of about `pad` bytes. */
static size_t verdict_line(char *out, size_t size, unsigned n, unsigned pad)
{
    int len = snprintf(out, size,
                       "{\"pattern.id\":\"1\",\"incident_id\":\"inc-%u\",\"status\":\"open\","
                       "\"severity\":\"critical\",\"headline\":\"number %u\",\"last_seen\":"
                       "\"2026-03-02T00:00:%02uZ\",\"pad\":\"%0*u\"}",
                       n % 10, n, n % 60, (int)pad, n);
    return (size_t)len;
}

/* What every other verdict counts against: the others are records of the first version. */
static __attribute__((unused)) struct tc_offence offence_of(int64_t n)
{
    uint64_t word = (uint64_t)n + 1;
    if (n % 2 == 0) {
        return (struct tc_offence){.kind = TC_THING_NONE};
    }
    return (struct tc_offence){.kind = TC_THING_PORT,
                               .last_ns = n * 13,
                               .names = {{{word, 2 * word}}, {{3 * word, 0}}, {{0, 5 * word}}},
                               .node = {{7 * word, 8 * word}},
                               .domain = 9 * word};
}

static __attribute__((unused)) tc_status put_one(struct tc_outbox *o, unsigned n, unsigned pad)
{
    static char line[TEXT_ROOM];
    char id[32];
    char key[32];
    size_t len = verdict_line(line, sizeof line, n, pad);
    (void)snprintf(id, sizeof id, "inc-%u", n % 10);
    (void)snprintf(key, sizeof key, "key-%u", n % 10);
    struct tc_incident_mark mark = {.pattern_id = TC_LIT("1"),
                                    .key = tc_slice_cstr(key),
                                    .incident_id = tc_slice_cstr(id),
                                    .status =
                                        n % 10 == 3 ? TC_VERDICT_RESOLVED : TC_VERDICT_UPDATED,
                                    .first_ns = n,
                                    .detected_ns = -(int64_t)n,
                                    .content = n * 7,
                                    .told = n * 11,
                                    .offence = offence_of(n)};
    return tc_outbox_put(o, &mark, tc_slice_make(line, len), 1);
}

static __attribute__((unused)) void log_path(char *out, size_t size, unsigned seq)
{
    (void)snprintf(out, size, "%s/%08u.log", outbox_dir, seq);
}

static __attribute__((unused)) void append_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

/* All of a file; the caller frees it. NULL: there is none. */
static __attribute__((unused)) char *read_whole(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return NULL;
    }
    char *text = calloc(1, TEXT_ROOM);
    size_t n = fread(text, 1, TEXT_ROOM - 1, f);
    text[n] = '\0';
    (void)fclose(f);
    return text;
}

/* The numbers of the lines, in order; every line is whole. */
static __attribute__((unused)) size_t read_numbers(const char *path, unsigned *out, size_t max)
{
    char *text = read_whole(path);
    size_t count = 0;
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        char *at = strstr(line, "number ");
        assert_non_null(at);
        assert_true(count < max);
        out[count] = (unsigned)strtoul(at + 7, NULL, 10);
        char want[8192];
        (void)verdict_line(want, sizeof want, out[count],
                           (unsigned)(strchr(strstr(line, "\"pad\":\"") + 7, '"') -
                                      (strstr(line, "\"pad\":\"") + 7)));
        assert_string_equal(line, want);
        count++;
        line = end + 1;
    }
    free(text);
    return count;
}

static __attribute__((unused)) void assert_lines(const char *path, unsigned from, unsigned to)
{
    static unsigned numbers[65536];
    size_t count = read_numbers(path, numbers, 65536);
    assert_int_equal(count, to - from);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(numbers[i], from + i);
    }
}

/* What was restored: the number of the latest verdict of each of the ten incidents. */
struct restored {
    unsigned count;
    int64_t first_ns[10];
};

static __attribute__((unused)) tc_status keep_mark(void *context,
                                                   const struct tc_incident_mark *mark)
{
    struct restored *r = context;
    unsigned i = (unsigned)(mark->incident_id.ptr[4] - '0');
    assert_true(i < 10);
    r->count++;
    r->first_ns[i] = mark->first_ns;
    assert_true(tc_slice_eq(mark->pattern_id, TC_LIT("1")));
    assert_int_equal(mark->key.ptr[4], mark->incident_id.ptr[4]);
    assert_int_equal(mark->detected_ns, -mark->first_ns);
    assert_int_equal(mark->content, mark->first_ns * 7);
    assert_int_equal(mark->told, mark->first_ns * 11);
    assert_int_equal(mark->status, i == 3 ? TC_VERDICT_RESOLVED : TC_VERDICT_UPDATED);
    struct tc_offence offence = offence_of(mark->first_ns);
    assert_int_equal(mark->offence.kind, offence.kind);
    assert_int_equal(mark->offence.last_ns, offence.last_ns);
    assert_memory_equal(mark->offence.names, offence.names, sizeof offence.names);
    assert_memory_equal(&mark->offence.node, &offence.node, sizeof offence.node);
    assert_int_equal(mark->offence.domain, offence.domain);
    return TC_OK;
}

static __attribute__((unused)) struct restored open_box(const struct tc_outbox_config *config)
{
    struct restored r = {0};
    memset(&err, 0, sizeof err);
    tc_status status = tc_outbox_open(config, keep_mark, &r, &box, &err);
    if (status != TC_OK) {
        print_message("%s\n", err.message);
    }
    assert_int_equal(status, TC_OK);
    return r;
}

static __attribute__((unused)) struct restored start_box(const struct tc_outbox_config *config)
{
    struct restored r = open_box(config);
    assert_int_equal(tc_outbox_start(box, &err), TC_OK);
    return r;
}

/* Until a counter of the stats reaches a value; a test that waits in vain fails by that. */
static __attribute__((unused)) void wait_stat(size_t offset, uint64_t value)
{
    struct tc_outbox_stats stats;
    for (int i = 0; i < 20000; i++) {
        tc_outbox_stats(box, &stats);
        uint64_t now = 0;
        memcpy(&now, (const char *)&stats + offset, sizeof now);
        if (now >= value) {
            return;
        }
        (void)usleep(1000);
    }
    fail_msg("waited in vain");
}
#define WAIT_STAT(field, value) wait_stat(offsetof(struct tc_outbox_stats, field), (value))

#endif
