/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/outbox/outbox_testing.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void put_many(unsigned from, unsigned to, unsigned pad)
{
    for (unsigned n = from; n < to; n++) {
        assert_int_equal(put_one(box, n, pad), TC_OK);
    }
}

/* ---- the way out --------------------------------------------------------------------------- */

static void verdicts_reach_the_file_in_order_and_marks_come_back(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    assert_int_equal(start_box(&config).count, 0);
    put_many(0, 25, 10);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 25);

    struct restored r = start_box(&config);
    assert_int_equal(r.count, 10);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(r.first_ns[i], i < 5 ? 20 + i : 10 + i);
    }
    put_many(25, 30, 10);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 30);
}

static void without_a_file_the_log_alone_is_kept(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    config.file_path = NULL;
    (void)start_box(&config);
    put_many(0, 5, 1);
    tc_outbox_close(box, WAIT_LONG);
    config.file_path = file_path; /* now there is one: it begins with what is new */
    assert_int_equal(start_box(&config).count, 5);
    put_many(5, 7, 1);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 5, 7);
}

static void what_was_put_before_the_start_is_not_lost(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    (void)open_box(&config);
    put_many(0, 3, 1);
    tc_outbox_close(box, WAIT_LONG); /* never started: stored, not delivered */
    assert_int_not_equal(access(file_path, F_OK), 0);
    (void)start_box(&config);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 3);
}

static void too_large_a_verdict_is_refused_and_the_largest_is_not(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    static char line[TC_OUTBOX_RECORD_MAX];
    memset(line, 'x', sizeof line);
    struct tc_incident_mark mark = {.incident_id = TC_LIT("i")};
    size_t fits = TC_OUTBOX_RECORD_MAX - 64 - 1;
    assert_int_equal(tc_outbox_put(box, &mark, tc_slice_make(line, fits + 1), 0), TC_E_UNSUPPORTED);
    assert_int_equal(tc_outbox_put(box, &mark, tc_slice_make(line, fits), 0), TC_OK);
    tc_outbox_close(box, WAIT_LONG);
    struct stat st;
    assert_int_equal(stat(file_path, &st), 0);
    assert_int_equal(st.st_size, fits + 1);
}

/* ---- what a crash leaves ------------------------------------------------------------------- */

static void a_torn_tail_of_the_log_is_cut(void **state)
{
    (void)state;
    char path[128];
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    put_many(0, 4, 1);
    tc_outbox_close(box, WAIT_LONG);
    log_path(path, sizeof path, 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    append_text(path, "TCv1 and then the power went");
    assert_int_equal(start_box(&config).count, 4);
    struct tc_outbox_stats stats;
    tc_outbox_stats(box, &stats);
    assert_int_equal(stats.torn_bytes, 28);
    assert_int_equal(stats.damaged, 0);
    assert_int_equal(stats.log_bytes, st.st_size);
    put_many(4, 6, 1);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 6);
}

/* Every length that a log can be cut to: what is whole before the cut is there. */
static void a_log_cut_anywhere_opens(void **state)
{
    (void)state;
    char path[128];
    struct tc_outbox_config config = plain_config();
    config.file_path = NULL;
    (void)start_box(&config);
    put_many(0, 3, 1);
    tc_outbox_close(box, WAIT_LONG);
    log_path(path, sizeof path, 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    unsigned last = 3;
    for (off_t len = st.st_size; len >= 0; len--) {
        assert_int_equal(truncate(path, len), 0);
        unsigned count = open_box(&config).count;
        assert_true(count <= last);
        last = count;
        tc_outbox_close(box, 0);
    }
    assert_int_equal(last, 0);
}

static void a_flipped_bit_costs_one_record(void **state)
{
    (void)state;
    char path[128];
    struct tc_outbox_config config = plain_config();
    config.file_path = NULL;
    (void)start_box(&config);
    put_many(0, 8, 50);
    tc_outbox_close(box, WAIT_LONG);
    log_path(path, sizeof path, 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    int fd = open(path, O_RDWR);
    char *good = malloc((size_t)st.st_size);
    assert_int_equal(pread(fd, good, (size_t)st.st_size, 0), st.st_size);
    struct tc__record r;
    assert_int_equal(tc__record_read(tc_slice_make(good, (size_t)st.st_size), &r), TC__RECORD_GOOD);
    /* Each byte of the second record in turn: its head and its body. */
    for (size_t i = r.len; i < 2 * r.len; i++) {
        char spoiled = (char)(good[i] ^ 0x10);
        assert_int_equal(pwrite(fd, &spoiled, 1, (off_t)i), 1);
        assert_int_equal(open_box(&config).count, 7);
        struct tc_outbox_stats stats;
        tc_outbox_stats(box, &stats);
        assert_int_equal(stats.damaged, 1);
        assert_int_equal(stats.torn_bytes, 0);
        tc_outbox_close(box, 0);
        assert_int_equal(pwrite(fd, good, (size_t)st.st_size, 0), st.st_size);
        assert_int_equal(ftruncate(fd, st.st_size), 0);
    }
    free(good);
    (void)close(fd);
}

/* The file has lines that the cursor does not know of, and a torn one. */
static void lines_that_are_there_are_not_written_again(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    static char line[8192];
    for (unsigned whole = 0; whole <= 3; whole++) {
        for (unsigned torn = 0; torn < 3; torn++) {
            assert_int_equal(make_folder(NULL), 0);
            config.dir = outbox_dir;
            (void)open_box(&config);
            put_many(0, 3, 1);
            tc_outbox_close(box, 0); /* in the log only, with no cursor */
            for (unsigned n = 0; n < whole; n++) {
                (void)verdict_line(line, sizeof line, n, 1);
                append_text(file_path, line);
                append_text(file_path, "\n");
            }
            if (torn > 0 && whole < 3) {
                size_t len = verdict_line(line, sizeof line, whole, 1);
                line[torn == 1 ? 1 : len] = '\0'; /* one byte, or all but its newline */
                append_text(file_path, line);
            }
            (void)start_box(&config);
            put_many(3, 4, 1);
            tc_outbox_close(box, WAIT_LONG);
            assert_lines(file_path, 0, 4);
            assert_int_equal(drop_folder(NULL), 0);
        }
    }
    assert_int_equal(make_folder(NULL), 0);
}

static void what_others_wrote_stays(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    append_text(file_path, "not ours\nnor this");
    (void)open_box(&config);
    put_many(0, 1, 1);
    tc_outbox_close(box, 0);
    (void)start_box(&config);
    tc_outbox_close(box, WAIT_LONG);
    char *text = read_whole(file_path);
    char line[256];
    (void)verdict_line(line, sizeof line, 0, 1);
    assert_memory_equal(text, "not ours\nnor this\n", 18);
    assert_int_equal(strncmp(text + 18, line, strlen(line)), 0);
    free(text);
}

/* ---- rotation ------------------------------------------------------------------------------ */

static void a_file_that_was_moved_away_is_made_anew(void **state)
{
    (void)state;
    char moved[128];
    (void)snprintf(moved, sizeof moved, "%s.1", file_path);
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    put_many(0, 3, 1);
    WAIT_STAT(written, 3);
    assert_int_equal(rename(file_path, moved), 0);
    put_many(3, 5, 1);
    WAIT_STAT(written, 5);
    assert_int_equal(truncate(file_path, 0), 0); /* and emptied, as copytruncate does */
    put_many(5, 6, 1);
    WAIT_STAT(written, 6);
    assert_lines(moved, 0, 3);
    assert_lines(file_path, 5, 6);
    tc_outbox_close(box, WAIT_LONG);
}

static void a_rotation_between_crash_and_start_writes_nothing_twice(void **state)
{
    (void)state;
    char moved[128];
    (void)snprintf(moved, sizeof moved, "%s.1", file_path);
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    put_many(0, 2, 1);
    tc_outbox_close(box, WAIT_LONG); /* the cursor knows the file now */
    (void)open_box(&config);
    put_many(2, 5, 1);
    tc_outbox_close(box, 0);
    static char line[8192];
    for (unsigned n = 2; n < 4; n++) { /* as if the process had written one and a half, and died */
        size_t len = verdict_line(line, sizeof line, n, 1);
        line[n == 2 ? len : len / 2] = '\0';
        append_text(file_path, line);
        append_text(file_path, n == 2 ? "\n" : "");
    }
    assert_int_equal(rename(file_path, moved), 0);
    (void)start_box(&config);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(moved, 0, 3);
    assert_lines(file_path, 3, 5);
}

static void another_path_goes_on_where_the_first_was(void **state)
{
    (void)state;
    char other[128];
    (void)snprintf(other, sizeof other, "%s.other", file_path);
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    put_many(0, 2, 1);
    WAIT_STAT(written, 2);
    config.file_path = other;
    tc_outbox_configure(box, &config);
    put_many(2, 4, 1);
    WAIT_STAT(written, 4);
    config.file_path = NULL;
    tc_outbox_configure(box, &config);
    put_many(4, 5, 1);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 2);
    assert_lines(other, 2, 4);
}

/* ---- a stream ------------------------------------------------------------------------------ */

static void a_fifo_gets_whole_lines_whatever_its_reader_does(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(file_path, 0600), 0);
    int reader = open(file_path, O_RDONLY | O_NONBLOCK);
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    put_many(0, 60, 3000); /* more than a pipe holds */
    size_t have = 0;
    static char text[TEXT_ROOM];
    struct tc_outbox_stats stats = {0};
    for (int i = 0; i < 20000 && stats.written < 60; i++) {
        (void)usleep(1000);
        ssize_t n = read(reader, text + have, 7000);
        have += n > 0 ? (size_t)n : 0;
        tc_outbox_stats(box, &stats);
    }
    tc_outbox_close(box, WAIT_LONG);
    for (ssize_t n; (n = read(reader, text + have, 65536)) > 0;) {
        have += (size_t)n;
    }
    (void)close(reader);
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%s.copy", file_path);
    text[have] = '\0';
    append_text(copy, text);
    assert_lines(copy, 0, 60);
}

/* ---- disks --------------------------------------------------------------------------------- */

static atomic_int failures_left;
static atomic_int failing_call; /* which of the calls fails */

static bool fails(int which)
{
    if (failing_call == which && failures_left > 0) {
        failures_left--;
        errno = ENOSPC;
        return true;
    }
    return false;
}

static ssize_t failing_pwrite(int fd, const void *data, size_t len, off_t at)
{
    if (fails(0)) {
        return -1;
    }
    if (fails(1)) { /* half of it, and then no more */
        failing_call = 0;
        return pwrite(fd, data, len / 2, at);
    }
    return pwrite(fd, data, len, at);
}

static ssize_t failing_write(int fd, const void *data, size_t len)
{
    if (fails(2)) {
        return -1;
    }
    if (fails(3)) {
        failing_call = 2;
        return write(fd, data, len / 2);
    }
    return write(fd, data, len);
}

static int failing_sync(int fd)
{
    return fails(4) ? -1 : no_sync(fd);
}

static void a_failing_disk_loses_nothing_and_is_counted(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        assert_int_equal(make_folder(NULL), 0);
        struct tc_outbox_config config = plain_config();
        config.io = (struct tc_outbox_io){
            .pwrite = failing_pwrite, .write = failing_write, .sync = failing_sync};
        (void)open_box(&config);
        failing_call = which;
        failures_left = 3;
        assert_int_equal(tc_outbox_start(box, &err), TC_OK);
        put_many(0, 5, 1);
        WAIT_STAT(written, 5);
        struct tc_outbox_stats stats;
        tc_outbox_stats(box, &stats);
        assert_int_equal(stats.errors, which == 1 || which == 3 ? 2 : 3);
        tc_outbox_close(box, WAIT_LONG);
        assert_lines(file_path, 0, 5);
        config.io = (struct tc_outbox_io){0};
        assert_int_equal(open_box(&config).count, 5);
        tc_outbox_close(box, 0);
        assert_int_equal(drop_folder(NULL), 0);
    }
    assert_int_equal(make_folder(NULL), 0);
}

static void a_dead_disk_fills_the_queue_and_then_refuses(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    config.io.pwrite = failing_pwrite;
    failing_call = 0;
    failures_left = 1 << 30;
    (void)start_box(&config);
    unsigned n = 0;
    tc_status status = TC_OK;
    while ((status = put_one(box, n, 100000)) == TC_OK) {
        n++;
    }
    assert_int_equal(status, TC_E_LIMIT);
    assert_true(n >= TC_OUTBOX_QUEUE_MAX / 101000);
    struct tc_outbox_stats stats;
    tc_outbox_stats(box, &stats);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.taken, n);
    assert_int_equal(stats.pending_file, n);
    failures_left = 0; /* there is room again */
    WAIT_STAT(written, n);
    assert_int_equal(put_one(box, n, 1), TC_OK);
    tc_outbox_close(box, WAIT_LONG);
}

static void closing_does_not_wait_for_a_dead_disk(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    config.io.pwrite = failing_pwrite;
    failing_call = 0;
    failures_left = 1 << 30;
    (void)start_box(&config);
    put_many(0, 3, 1);
    tc_outbox_close(box, TC_SECOND / 20);
    failures_left = 0;
}

static void a_file_that_cannot_be_opened_is_tried_again(void **state)
{
    (void)state;
    char missing[128];
    (void)snprintf(missing, sizeof missing, "%s/later", folder);
    (void)snprintf(file_path, sizeof file_path, "%s/later/file", folder);
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    put_many(0, 2, 1);
    WAIT_STAT(errors, 2);
    assert_int_equal(mkdir(missing, 0700), 0);
    WAIT_STAT(written, 2);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 2);
}

static void beyond_its_bytes_an_output_drops_the_oldest(void **state)
{
    (void)state;
    char missing[128];
    (void)snprintf(missing, sizeof missing, "%s/later", folder);
    (void)snprintf(file_path, sizeof file_path, "%s/later/file", folder);
    struct tc_outbox_config config = plain_config();
    config.queue_bytes_max = 10000;
    (void)start_box(&config);
    put_many(0, 40, 700);
    WAIT_STAT(dropped_file, 25);
    struct tc_outbox_stats stats;
    (void)usleep(50000);
    tc_outbox_stats(box, &stats);
    unsigned dropped = (unsigned)stats.dropped_file;
    assert_int_equal(stats.pending_file, 40 - dropped);
    assert_true(stats.pending_file > 5);
    assert_int_equal(mkdir(missing, 0700), 0);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, dropped, 40);
}

/* ---- compaction ---------------------------------------------------------------------------- */

static void a_long_log_is_compacted_and_keeps_what_matters(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    config.compact_bytes = 20000;
    (void)start_box(&config);
    put_many(0, 500, 300);
    WAIT_STAT(written, 500);
    WAIT_STAT(compactions, 1);
    struct tc_outbox_stats stats;
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 500);
    struct restored r = start_box(&config);
    assert_int_equal(r.count, 10);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(r.first_ns[i], 490 + i);
    }
    tc_outbox_stats(box, &stats);
    assert_true(stats.log_bytes < 60000);
    put_many(500, 501, 1);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 501);
}

static void what_is_not_delivered_survives_compaction(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    config.compact_bytes = 20000;
    config.otlp_endpoint = "http://127.0.0.1:1/v1/logs"; /* nobody listens there */
    (void)start_box(&config);
    put_many(0, 30, 300);
    WAIT_STAT(written, 30);
    tc_outbox_close(box, WAIT_LONG);
    (void)start_box(&config);
    struct tc_outbox_stats stats;
    tc_outbox_stats(box, &stats);
    assert_int_equal(stats.pending_otlp, 30);
    assert_int_equal(stats.pending_file, 0);
    tc_outbox_close(box, 0);
}

/* ---- kill -9 ------------------------------------------------------------------------------- */

#define VERDICTS 15
static atomic_int calls_left;
static unsigned *confirmed; /* by the child, whose lines were written: shared with it */

static bool is_last_call(void)
{
    return calls_left-- == 0;
}

/* kill -9, here and now. */
static void die(void)
{
    (void)kill(getpid(), SIGKILL);
    (void)pause();
}

static ssize_t dying_pwrite(int fd, const void *data, size_t len, off_t at)
{
    if (is_last_call() && pwrite(fd, data, len / 2, at) >= 0) {
        die();
    }
    return pwrite(fd, data, len, at);
}

static ssize_t dying_write(int fd, const void *data, size_t len)
{
    if (is_last_call() && write(fd, data, len / 2 + 1) >= 0) {
        die();
    }
    return write(fd, data, len);
}

static int dying_sync(int fd)
{
    if (is_last_call()) {
        die();
    }
    return no_sync(fd);
}

static int dying_rename(int dir_fd, const char *from, const char *to)
{
    if (is_last_call()) {
        die();
    }
    int result = renameat(dir_fd, from, dir_fd, to);
    if (is_last_call()) {
        die();
    }
    return result;
}

/* Puts `count` verdicts one after the other, each when the one before is written. Whether it got to
 * the end. */
static bool run_child(int die_at, unsigned count, int64_t file_sync_ns)
{
    pid_t child = fork();
    if (child == 0) {
        calls_left = die_at;
        struct tc_outbox_config config = plain_config();
        config.compact_bytes = 2000;
        config.file_sync_ns = file_sync_ns;
        config.io = (struct tc_outbox_io){.pwrite = dying_pwrite,
                                          .write = dying_write,
                                          .sync = dying_sync,
                                          .rename = dying_rename};
        struct restored r = {0};
        if (tc_outbox_open(&config, keep_mark, &r, &box, &err) != TC_OK ||
            tc_outbox_start(box, &err) != TC_OK) {
            _exit(1);
        }
        for (unsigned n = 0; n < count; n++) {
            if (put_one(box, n, 200) != TC_OK) {
                _exit(1);
            }
            WAIT_STAT(written, n + 1);
            *confirmed = n + 1;
        }
        tc_outbox_close(box, WAIT_LONG);
        _exit(2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    bool died = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    assert_true(died || (WIFEXITED(status) && WEXITSTATUS(status) == 2));
    return !died;
}

/*
 * Dies at each write, sync and rename in turn, compaction included; the next process finds every
 * verdict that was durable, each once in the file, and nothing that was not put.
 */
static void die_at_every_call(int64_t file_sync_ns)
{
    static unsigned numbers[1024];
    confirmed =
        mmap(NULL, sizeof *confirmed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(confirmed != MAP_FAILED);
    for (int die_at = 0;; die_at++) {
        assert_int_equal(make_folder(NULL), 0);
        *confirmed = 0;
        bool whole = run_child(die_at, VERDICTS, file_sync_ns);
        struct tc_outbox_config config = plain_config();
        struct restored r = start_box(&config);
        tc_outbox_close(box, WAIT_LONG);
        size_t count = access(file_path, F_OK) == 0 ? read_numbers(file_path, numbers, 1024) : 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(numbers[i], i);
        }
        assert_true(count >= *confirmed && count <= *confirmed + 1);
        /* What was told is what can be restored, for every incident. */
        for (unsigned i = 0; i < 10; i++) {
            int64_t latest = 0;
            for (size_t n = 0; n < count; n++) {
                latest = n % 10 == i ? (int64_t)n : latest;
            }
            assert_int_equal(r.first_ns[i], latest);
        }
        assert_int_equal(drop_folder(NULL), 0);
        if (whole) {
            assert_int_equal(count, VERDICTS);
            assert_true(die_at > 50); /* there were compactions among them */
            break;
        }
    }
    assert_int_equal(munmap(confirmed, sizeof *confirmed), 0);
    assert_int_equal(make_folder(NULL), 0);
}

/* The file is synced with each group, so that there are compactions all the time ... */
static void it_dies_at_every_call_and_nothing_is_lost_or_doubled(void **state)
{
    (void)state;
    die_at_every_call(1);
}

/* ... or not before the end, so that the cursor knows of none of its lines. */
static void nor_when_the_cursor_is_far_behind(void **state)
{
    (void)state;
    die_at_every_call(600 * TC_SECOND);
}

/* The lines of the new file are not synced when it dies; nor were all of the old one. */
static void a_crash_after_a_rotation_writes_nothing_twice(void **state)
{
    (void)state;
    for (int emptied = 0; emptied < 2; emptied++) {
        assert_int_equal(make_folder(NULL), 0);
        char moved[128];
        (void)snprintf(moved, sizeof moved, "%s.1", file_path);
        pid_t child = fork();
        struct tc_outbox_config config = plain_config();
        config.file_sync_ns = 600 * TC_SECOND;
        if (child == 0) {
            (void)start_box(&config);
            put_many(0, 3, 1);
            WAIT_STAT(written, 3);
            assert_int_equal(emptied ? truncate(file_path, 0) : rename(file_path, moved), 0);
            put_many(3, 9, 1); /* more than there was */
            WAIT_STAT(written, 9);
            die();
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        (void)start_box(&config);
        put_many(9, 10, 1);
        tc_outbox_close(box, WAIT_LONG);
        assert_lines(file_path, 3, 10);
        if (!emptied) {
            assert_lines(moved, 0, 3);
        }
        assert_int_equal(drop_folder(NULL), 0);
    }
    assert_int_equal(make_folder(NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(verdicts_reach_the_file_in_order_and_marks_come_back),
        TEST(without_a_file_the_log_alone_is_kept),
        TEST(what_was_put_before_the_start_is_not_lost),
        TEST(too_large_a_verdict_is_refused_and_the_largest_is_not),
        TEST(a_torn_tail_of_the_log_is_cut),
        TEST(a_log_cut_anywhere_opens),
        TEST(a_flipped_bit_costs_one_record),
        TEST(lines_that_are_there_are_not_written_again),
        TEST(what_others_wrote_stays),
        TEST(a_file_that_was_moved_away_is_made_anew),
        TEST(a_rotation_between_crash_and_start_writes_nothing_twice),
        TEST(another_path_goes_on_where_the_first_was),
        TEST(a_fifo_gets_whole_lines_whatever_its_reader_does),
        TEST(a_failing_disk_loses_nothing_and_is_counted),
        TEST(a_dead_disk_fills_the_queue_and_then_refuses),
        TEST(closing_does_not_wait_for_a_dead_disk),
        TEST(a_file_that_cannot_be_opened_is_tried_again),
        TEST(beyond_its_bytes_an_output_drops_the_oldest),
        TEST(a_long_log_is_compacted_and_keeps_what_matters),
        TEST(what_is_not_delivered_survives_compaction),
        TEST(it_dies_at_every_call_and_nothing_is_lost_or_doubled),
        TEST(nor_when_the_cursor_is_far_behind),
        TEST(a_crash_after_a_rotation_writes_nothing_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
