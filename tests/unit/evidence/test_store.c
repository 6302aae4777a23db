/* SPDX-License-Identifier: Apache-2.0 */
/* Batches go in, are durable, come out again; and what a dead process leaves is put right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/file_priv.h"
#include "unit/evidence/evidence_testing.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    assert_int_equal(tc_store_next_number(s), 1);
    fill(s, 100, 7);
    struct tc_store_stats stats = stats_of(s);
    assert_int_equal(stats.batches, 100);
    assert_true(stats.bytes_in > stats.bytes_out);
    assert_int_equal(stats.commits, 15);
    struct seen seen = {.sized = true};
    walk_all(&seen, 0); /* while it is open */
    assert_int_equal(seen.count, 100);
    assert_int_equal(seen.bad, 0);
    tc_store_close(s);
    struct seen later = {.sized = true};
    walk_all(&later, 51);
    assert_int_equal(later.count, 50);
    assert_int_equal(later.numbers[0], 51);
}

static void goes_on_where_it_ended(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    for (int i = 0; i < 5; i++) {
        struct tc_store *s = open_store(&config);
        assert_int_equal(tc_store_next_number(s), i * 10 + 1);
        assert_int_equal(stats_of(s).kept_batches, i * 10);
        fill(s, 10, 3);
        struct tc_store_stats stats = stats_of(s);
        assert_int_equal(stats.batches, 10); /* of this process */
        assert_int_equal(stats.kept_batches, i * 10 + 10);
        assert_true(stats.kept_body_bytes > 0 && stats.kept_bytes > 0);
        tc_store_close(s);
    }
    struct seen seen = {.sized = true};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 50);
    assert_string_equal(said, "");
}

struct following {
    struct seen seen;
    size_t most; /* then it has enough for now */
};

static tc_status take_some(void *context, const struct tc_batch *batch,
                           const struct tc_batch_info *info)
{
    struct following *f = context;
    assert_int_equal(batch->kind, TC_BATCH_FILE);
    return f->seen.count == f->most ? TC_E_LIMIT : take_batch(&f->seen, batch, info);
}

/* Whoever follows the writer gets the kinds that it wants, each once, in as many steps as it likes.
 */
static void one_can_follow_the_writer(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_evidence *e = NULL;
    struct tc_error err = {0};
    struct following f = {.seen = {.sized = true}, .most = 7};
    uint64_t from = 1;
    fill(s, 40, 7);
    assert_int_equal(tc_evidence_open(test_dir, &e, &err), TC_OK);
    struct tc_evidence_choice choice = {
        .kinds = 1U << TC_BATCH_FILE, .take = take_some, .context = &f};
    assert_int_equal(tc_evidence_walk_some(e, &from, &choice, &err), TC_E_LIMIT);
    assert_int_equal(from, 24); /* the batch that was not taken */
    f.most = SIZE_MAX;
    assert_int_equal(tc_evidence_walk_some(e, &from, &choice, &err), TC_OK);
    assert_int_equal(from, 41); /* behind the last, whatever it was */
    fill(s, 10, 7);
    assert_int_equal(tc_evidence_walk_some(e, &from, &choice, &err), TC_OK);
    assert_int_equal(from, 51);
    assert_int_equal(f.seen.count, 16);
    for (size_t i = 0; i < f.seen.count; i++) {
        assert_int_equal(f.seen.numbers[i], 3 * (i + 1));
    }
    tc_evidence_close(e);
    tc_store_close(s);
}

struct peeking {
    struct seen seen;
    size_t asked;
    size_t longest; /* beginning */
};

static bool wants_odd(void *context, const struct tc_batch *batch)
{
    struct peeking *p = context;
    p->asked++;
    p->longest = batch->body.len > p->longest ? batch->body.len : p->longest;
    return batch->number % 2 == 1;
}

static tc_status take_peeked(void *context, const struct tc_batch *batch,
                             const struct tc_batch_info *info)
{
    struct peeking *p = context;
    assert_int_equal(batch->body.len, info->body_bytes);
    return take_batch(&p->seen, batch, info);
}

/* Of long bodies the beginning is shown first, and those that are not wanted are not read on. */
static void a_long_body_is_asked_for_by_its_beginning(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, 200, 3 << 20, 3 << 20, 512 << 10, (512 << 10) + 1};
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(append_one(s, i + 1, sizes[i]), TC_OK);
    }
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    tc_store_close(s);
    struct tc_evidence *e = open_evidence();
    struct peeking p = {0};
    struct tc_evidence_choice choice = {
        .kinds = ~0U, .wants = wants_odd, .take = take_peeked, .context = &p};
    uint64_t from = 1;
    assert_int_equal(tc_evidence_walk_some(e, &from, &choice, &err), TC_OK);
    assert_int_equal(from, 7);
    assert_int_equal(p.asked, 3); /* 3, 4, 6 */
    assert_int_equal(p.longest, 512 << 10);
    assert_int_equal(p.seen.count, 4); /* 1, 2, 3, 5 */
    assert_int_equal(p.seen.numbers[2], 3);
    assert_int_equal(p.seen.numbers[3], 5);
    tc_evidence_close(e);
}

static void large_bodies_are_whole(void **state)
{
    (void)state;
    static const size_t sizes[] = {(512 << 10) - 1, 512 << 10, (512 << 10) + 1, 1 << 20, BODY_MAX};
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(append_one(s, i + 1, sizes[i]), TC_OK);
    }
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    tc_store_close(s);
    struct seen seen = {0};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 5);
    struct tc_evidence *e = open_evidence();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tc_slice body;
        assert_int_equal(tc_evidence_body(e, i + 1, &body, &err), TC_OK);
        assert_true(tc_slice_eq(body, body_of(i + 1, sizes[i])));
    }
    tc_evidence_close(e);
}

static void bodies_are_found_by_number(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    for (uint64_t n = 10; n < 600; n += 7) {
        assert_int_equal(append_one(s, n, size_of(n)), TC_OK);
    }
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    struct tc_evidence *e = open_evidence();
    for (uint64_t n = 0; n < 610; n++) {
        struct tc_slice body;
        bool there = n >= 10 && n < 600 && (n - 10) % 7 == 0;
        assert_int_equal(tc_evidence_body(e, n, &body, &err), there ? TC_OK : TC_E_NOTFOUND);
        assert_true(!there || tc_slice_eq(body, body_of(n, size_of(n))));
    }
    tc_evidence_close(e);
    tc_store_close(s);
}

static void refuses_what_it_cannot_keep(void **state)
{
    (void)state;
    static char long_name[TC_STORE_NAME_MAX + 1];
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    assert_int_equal(append_one(s, 5, 10), TC_OK);
    assert_int_equal(append_one(s, 5, 10), TC_E_USAGE);
    assert_int_equal(append_one(s, 4, 10), TC_E_USAGE);
    struct tc_batch b = batch_of(7, 10);
    b.name = tc_slice_make(long_name, sizeof long_name);
    assert_int_equal(tc_store_append(s, &b, &err), TC_E_LIMIT);
    b.name.len--;
    b.kind = (enum tc_batch_kind)(TC_BATCH_KIND_LAST + 1);
    assert_int_equal(tc_store_append(s, &b, &err), TC_E_USAGE);
    /* The group stands. */
    assert_int_equal(append_one(s, 9, 10), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    tc_store_close(s);
    struct seen seen = {0};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, 2);
}

static void one_process_writes(void **state)
{
    (void)state;
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_store *second = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_store_open(test_dir, &config, NULL, NULL, &second, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "in use"));
    tc_store_close(s);
    s = open_store(&config);
    tc_store_close(s);
}

static void there_is_none(void **state)
{
    (void)state;
    struct tc_evidence *e = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_evidence_open(test_dir, &e, &err), TC_E_NOTFOUND);
}

/* Every length a segment can be cut to: all whole batches stay, the rest is told. */
static void a_torn_tail_is_cut(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    uint64_t ends[4];
    for (uint64_t n = 1; n <= 3; n++) {
        assert_int_equal(append_one(s, n, n * 50), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
        segment_path(path, sizeof path);
        ends[n] = file_size(path);
    }
    ends[0] = 64;
    tc_store_close(s);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    static char bytes[4096];
    ssize_t all = read(fd, bytes, sizeof bytes);
    (void)close(fd);
    assert_true(all > 0 && (uint64_t)all == ends[3]);
    for (uint64_t cut = 0; cut <= ends[3]; cut++) {
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, bytes, (size_t)cut), (ssize_t)cut);
        (void)close(fd);
        said[0] = '\0';
        s = open_store(&config);
        struct tc_store_stats stats = stats_of(s);
        uint64_t whole = cut >= ends[3] ? 3 : cut >= ends[2] ? 2 : cut >= ends[1] ? 1 : 0;
        bool torn = cut > 64 && cut != ends[whole];
        assert_int_equal(stats.torn_count, torn);
        assert_int_equal(stats.torn_bytes, torn ? cut - ends[whole] : 0);
        assert_int_equal(stats.damaged, 0);
        assert_int_equal(strstr(said, "torn") != NULL, torn);
        tc_store_close(s);
        struct seen seen = {0};
        walk_all(&seen, 0);
        assert_int_equal(seen.count, whole);
    }
}

/* Every byte of a segment, flipped: what is good is kept, what is not is set aside. */
static void damage_is_set_aside(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = small_config();
    struct tc_store *s = open_store(&config);
    fill(s, 4, 1);
    tc_store_close(s);
    segment_path(path, sizeof path);
    uint64_t size = file_size(path);
    static char bytes[65536];
    assert_true(size < sizeof bytes);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, sizeof bytes), (ssize_t)size);
    (void)close(fd);
    for (uint64_t at = 0; at < size; at += at < 700 || at > size - 100 ? 1 : 97) {
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, bytes, (size_t)size), (ssize_t)size);
        (void)close(fd);
        flip(path, at, (uint8_t)(1 << at % 8));
        said[0] = '\0';
        s = open_store(&config);
        struct tc_store_stats stats = stats_of(s);
        assert_int_equal(stats.damaged, 1);
        assert_non_null(strstr(said, "quarantine"));
        assert_true(tc_store_next_number(s) > 4);
        tc_store_close(s);
        struct seen seen = {.sized = true};
        walk_all(&seen, 0);
        assert_int_equal(seen.bad, 0);
        assert_int_equal(seen.count, at < 64 ? 4 : 3);
        /* And now it is in order. */
        said[0] = '\0';
        s = open_store(&config);
        assert_int_equal(stats_of(s).damaged, 0);
        assert_string_equal(said, "");
        tc_store_close(s);
    }
}

/* How many whole pages of the newest open segment are in memory, and how many there are. */
static size_t resident_pages(size_t *out_all)
{
    unsigned char in_memory[256];
    char path[256];
    uint64_t seqs[16];
    size_t count = 0;
    assert_int_equal(tc__list_open(test_dir, seqs, 16, &count), 0);
    (void)snprintf(path, sizeof path, "%s/open/%020llu.seg", test_dir,
                   (unsigned long long)seqs[count - 1]);
    *out_all = (size_t)file_size(path) / 4096;
    assert_in_range(*out_all, 1, sizeof in_memory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = mmap(NULL, *out_all * 4096, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mincore(map, *out_all * 4096, in_memory), 0);
    size_t resident = 0;
    for (size_t i = 0; i < *out_all; i++) {
        resident += in_memory[i] & 1;
    }
    (void)munmap(map, *out_all * 4096);
    (void)close(fd);
    return resident;
}

/* What is written stays in memory for the sealing that comes soon, unless others wait for it. */
static void pages_go_while_segments_wait(void **state)
{
    (void)state;
    enum { BATCH = 300 << 10 };
    struct statfs fs;
    struct tc_store_config config = small_config();
    struct tc_error err;
    size_t all = 0;
    config.segment_bytes = (size_t)1 << 20;
    config.seals_apart = true;
    assert_int_equal(statfs(test_dir, &fs), 0);
    if (fs.f_type == TMPFS_MAGIC || sysconf(_SC_PAGESIZE) != 4096) {
        skip(); /* pages in memory are all that tmpfs has */
    }
    struct tc_store *s = open_store(&config);
    char *bytes = malloc(BATCH);
    uint64_t seed = 5;
    assert_non_null(bytes);
    for (uint64_t i = 1; i <= 5; i++) {
        for (size_t at = 0; at < BATCH; at++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            bytes[at] = (char)(seed >> 56);
        }
        struct tc_batch b = {.number = i,
                             .arrival_ns = T0,
                             .kind = TC_BATCH_FILE,
                             .body = tc_slice_make(bytes, BATCH)};
        assert_int_equal(tc_store_append(s, &b, &err), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
        /* Four of them are a segment; the fifth comes while that waits. */
        if (i == 3) {
            size_t resident = resident_pages(&all);
            assert_int_equal(resident, all);
        }
    }
    size_t resident = resident_pages(&all);
    assert_in_range(resident, 0, all / 4);
    free(bytes);
    tc_store_close(s);
}

static int make_dir_on_disk(void **state)
{
    (void)state;
    (void)snprintf(test_dir, sizeof test_dir, "/tmp/tc-evidence-XXXXXX");
    said[0] = '\0';
    return mkdtemp(test_dir) == NULL ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_goes_in_comes_out, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(goes_on_where_it_ended, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(one_can_follow_the_writer, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_long_body_is_asked_for_by_its_beginning, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(large_bodies_are_whole, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(bodies_are_found_by_number, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(refuses_what_it_cannot_keep, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(one_process_writes, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(there_is_none, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_torn_tail_is_cut, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(damage_is_set_aside, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(pages_go_while_segments_wait, make_dir_on_disk, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
