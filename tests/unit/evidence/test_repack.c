/* SPDX-License-Identifier: Apache-2.0 */
/* Segments are written with LZ4 and sealed with zstd; until then they wait, and are read as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/pack_priv.h"
#include "evidence/segment_priv.h"
#include "evidence/verify.h"
#include "unit/evidence/evidence_testing.h"

/* A segment for every few batches, which wait until tc_store_seal is called. */
static struct tc_store_config waiting_config(void)
{
    struct tc_store_config config = small_config();
    config.segment_bytes = 1000;
    config.seals_apart = true;
    return config;
}

/* The files in open/ whose names end so; the first of them in `out` (may be NULL). */
static size_t list_open(const char *suffix, char *out, size_t size)
{
    char dir[128];
    size_t count = 0;
    (void)snprintf(dir, sizeof dir, "%s/open", test_dir);
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (!tc_slice_ends(tc_slice_cstr(e->d_name), tc_slice_cstr(suffix))) {
            continue;
        }
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%.60s", dir, e->d_name);
        if (out != NULL && (count == 0 || strcmp(path, out) < 0)) {
            (void)snprintf(out, size, "%s", path);
        }
        count++;
    }
    (void)closedir(d);
    return count;
}

/* The version of a file, and whether its first batch has LZ4. */
static unsigned version_of(const char *path, bool *out_lz4)
{
    char bytes[TC__HEAD_BYTES + TC__PIECE_BYTES];
    struct tc__head head;
    struct tc__piece p;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof bytes), sizeof bytes);
    (void)close(fd);
    assert_true(tc__head_get(bytes, &head));
    assert_true(tc__piece_get(bytes + TC__HEAD_BYTES, TC__HEAD_BYTES, &p));
    *out_lz4 = p.is_lz4;
    return head.version;
}

struct objects {
    size_t count;
    size_t lz4;
};

static tc_status take_object(void *context, const struct tc_object_info *info)
{
    struct objects *o = context;
    char hex[2 * TC_DIGEST_BYTES + 1] = {0};
    char path[256];
    bool lz4 = false;
    (void)tc_put_hex_bytes(hex, info->digest.bytes, sizeof info->digest.bytes);
    (void)snprintf(path, sizeof path, "%s/objects/%.2s/%s", test_dir, hex, hex);
    unsigned version = version_of(path, &lz4);
    assert_int_equal(version, lz4 ? TC__SEGMENT_VERSION : TC__SEGMENT_VERSION_ZSTD);
    assert_int_equal(file_size(path), info->disk_bytes);
    o->count++;
    o->lz4 += lz4;
    return TC_OK;
}

static struct objects objects(void)
{
    struct objects o = {0};
    struct tc_error err = {0};
    struct tc_evidence *e = open_evidence();
    assert_int_equal(tc_evidence_objects(e, take_object, NULL, &o, &err), TC_OK);
    tc_evidence_close(e);
    return o;
}

static void fail_on_damage(void *context, const struct tc_verify_finding *f)
{
    (void)context;
    fail_msg("%s: offset %llu: %s", f->path, (unsigned long long)f->offset, f->text);
}

/* All of the first `count` batches are there, by walking, by number, and by every checksum. */
static void expect_sound(uint64_t count)
{
    struct seen seen = {.sized = true};
    struct tc_verify_sink sink = {.damage = fail_on_damage};
    struct tc_verify_result result;
    struct tc_error err = {0};
    walk_all(&seen, 0);
    assert_int_equal(seen.count, count);
    assert_int_equal(seen.bad, 0);
    struct tc_evidence *e = open_evidence();
    assert_int_equal(tc_evidence_verify(e, &sink, &result, &err), TC_OK);
    assert_int_equal(result.batches, count);
    for (uint64_t n = 1; n <= count; n++) {
        struct tc_slice body;
        assert_int_equal(tc_evidence_body(e, n, &body, &err), TC_OK);
        assert_true(tc_slice_eq(body, body_of(n, size_of(n))));
    }
    uint64_t from = 0;
    assert_int_equal(tc_evidence_replay_from(e, T0 + 7 * TC_SECOND, 0, &from, &err), TC_OK);
    assert_int_equal(from, 7);
    tc_evidence_close(e);
}

static size_t seal_all(struct tc_store *s)
{
    struct tc_store_pause never = {0};
    struct tc_error err = {0};
    size_t count = 0;
    for (bool sealed = true; sealed; count += sealed) {
        if (tc_store_seal(s, &never, &sealed, &err) != TC_OK) {
            fail_msg("seal: %s", err.message);
        }
    }
    return count;
}

static void what_is_written_waits_and_is_compressed_anew(void **state)
{
    (void)state;
    char path[256];
    bool lz4 = false;
    struct tc_store_config config = waiting_config();
    struct tc_store *s = open_store(&config);
    assert_int_equal(seal_all(s), 0);
    fill(s, 30, 2);
    size_t waiting = list_open(".seg", path, sizeof path);
    assert_true(waiting > 3);
    assert_int_equal(version_of(path, &lz4), TC__SEGMENT_VERSION);
    assert_true(lz4);
    struct tc_store_stats before = stats_of(s);
    assert_int_equal(before.sealed, 0);
    assert_int_equal(before.kept_batches, 30);
    assert_int_equal(before.object_bytes, 0);
    assert_true(before.waiting_bytes > 0 && before.waiting_bytes <= before.kept_bytes);
    expect_sound(30);
    /* The next process goes on with the same: it reads their ends, not all of them. */
    tc_store_close(s);
    s = open_store(&config);
    assert_string_equal(said, "");
    assert_int_equal(tc_store_next_number(s), 31);
    assert_int_equal(stats_of(s).kept_batches, 30);
    assert_int_equal(stats_of(s).kept_bytes, before.kept_bytes);
    assert_int_equal(stats_of(s).waiting_bytes, before.waiting_bytes);
    size_t sealed = seal_all(s);
    assert_true(sealed > 3 && sealed <= waiting);
    struct tc_store_stats after = stats_of(s);
    assert_int_equal(after.sealed, sealed);
    assert_int_equal(after.sealed_hot, 0);
    assert_int_equal(after.waiting_bytes, 0);
    assert_int_equal(after.kept_batches, 30);
    assert_int_equal(after.kept_body_bytes, before.kept_body_bytes);
    assert_int_equal(objects().count, sealed);
    assert_int_equal(objects().lz4, 0);
    assert_int_equal(list_open(".new", NULL, 0), 0);
    expect_sound(30);
    tc_store_close(s);
}

/* What goes on between two steps. */
struct breaks {
    size_t count;
    size_t stop_at; /* 0: never */
    uint64_t batches;
};

static bool look_around(void *context)
{
    struct breaks *b = context;
    b->count++;
    if (b->batches > 0) {
        expect_sound(b->batches);
        assert_int_equal(list_open(".new", NULL, 0), 1);
    }
    return b->count != b->stop_at;
}

/* Batches enough for several steps in one segment, of many pieces too. */
static void fill_large(struct tc_store *s)
{
    struct tc_error err = {0};
    for (uint64_t n = 1; n <= 30; n++) {
        assert_int_equal(append_one(s, n, size_of(n)), TC_OK);
    }
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
}

static void it_is_read_meanwhile_and_can_be_stopped(void **state)
{
    (void)state;
    struct tc_store_config config = waiting_config();
    config.segment_bytes = 150000;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    fill_large(s);
    uint64_t waiting = stats_of(s).waiting_bytes;
    assert_true(waiting > 0);
    struct breaks b = {.stop_at = 1, .batches = 30};
    struct tc_store_pause pause = {.go_on = look_around, .context = &b};
    bool sealed = true;
    assert_int_equal(tc_store_seal(s, &pause, &sealed, &err), TC_E_AGAIN);
    assert_false(sealed);
    assert_int_equal(list_open(".new", NULL, 0), 0);
    assert_int_equal(stats_of(s).waiting_bytes, waiting);
    assert_int_equal(stats_of(s).seal_failures, 0);
    expect_sound(30);
    b = (struct breaks){.batches = 30};
    assert_int_equal(tc_store_seal(s, &pause, &sealed, &err), TC_OK);
    assert_true(sealed && b.count >= 1);
    assert_int_equal(objects().lz4, 0);
    expect_sound(30);
    tc_store_close(s);
}

static void long_bodies_keep_their_pieces(void **state)
{
    (void)state;
    struct tc_store_config config = waiting_config();
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_slice body;
    assert_int_equal(append_one(s, 1, (size_t)3 << 20), TC_OK);
    assert_int_equal(append_one(s, 2, 0), TC_OK);
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    for (size_t pass = 0; pass < 2; pass++) {
        struct tc_evidence *e = open_evidence();
        assert_int_equal(tc_evidence_body(e, 1, &body, &err), TC_OK);
        assert_true(tc_slice_eq(body, body_of(1, (size_t)3 << 20)));
        assert_int_equal(tc_evidence_body(e, 2, &body, &err), TC_OK);
        assert_int_equal(body.len, 0);
        tc_evidence_close(e);
        assert_int_equal(seal_all(s), pass == 0);
    }
    tc_store_close(s);
}

/* However long nothing is idle, so many wait and no more. */
static void too_many_are_sealed_as_they_are(void **state)
{
    (void)state;
    struct tc_store_config config = waiting_config();
    config.segment_bytes = 1;
    struct tc_store *s = open_store(&config);
    fill(s, 70, 1);
    assert_int_equal(seal_all(s), 70);
    assert_int_equal(stats_of(s).sealed_hot, 70 - 64);
    assert_int_equal(objects().lz4, 70 - 64);
    expect_sound(70);
    tc_store_close(s);
}

static bool fill_another(void *context)
{
    struct tc_store *s = context;
    struct tc_error err = {0};
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t number = tc_store_next_number(s);
        assert_int_equal(append_one(s, number, size_of(number)), TC_OK);
    }
    assert_int_equal(tc_store_commit(s, &err), TC_OK);
    return true;
}

/* Also those that become full while one is compressed, which may take long. */
static void it_ends_when_too_many_wait_meanwhile(void **state)
{
    (void)state;
    struct tc_store_config config = waiting_config();
    config.segment_bytes = 150000;
    config.keep_bytes = 1200000;
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    bool sealed = false;
    fill_large(s);
    struct tc_store_pause pause = {.go_on = fill_another, .context = s};
    assert_true(stats_of(s).waiting_bytes < config.keep_bytes / 4);
    assert_int_equal(tc_store_seal(s, &pause, &sealed, &err), TC_OK);
    assert_true(sealed);
    assert_int_equal(stats_of(s).sealed_hot, 1);
    assert_int_equal(list_open(".new", NULL, 0), 0);
    expect_sound(60);
    /* It is alone now. */
    assert_int_equal(seal_all(s), 1);
    assert_int_equal(stats_of(s).sealed_hot, 1);
    expect_sound(60);
    tc_store_close(s);
}

/* They take a quarter of it at most, but one segment may always be compressed anew. */
static void waiting_segments_count_as_kept(void **state)
{
    (void)state;
    struct tc_store_config config = waiting_config();
    config.segment_bytes = 1;
    config.keep_bytes = 4000; /* four segments, not five */
    struct tc_store *s = open_store(&config);
    struct tc_error err = {0};
    struct tc_store_pause never = {0};
    bool sealed = false;
    for (uint64_t n = 1; n <= 5; n++) {
        assert_int_equal(append_one(s, n, 1000), TC_OK);
        assert_int_equal(tc_store_commit(s, &err), TC_OK);
        if (n <= 2) {
            assert_int_equal(tc_store_seal(s, &never, &sealed, &err), TC_OK);
        }
    }
    struct tc_store_stats stats = stats_of(s);
    assert_int_equal(stats.sealed, 2);
    assert_int_equal(stats.sealed_hot, 0);
    assert_int_equal(stats.deleted, 0);
    assert_true(stats.waiting_bytes > config.keep_bytes / 4);
    assert_int_equal(tc_store_seal(s, &never, &sealed, &err), TC_OK);
    stats = stats_of(s);
    assert_int_equal(stats.sealed_hot, 1);
    assert_int_equal(stats.deleted, 1);
    assert_true(stats.object_bytes + stats.waiting_bytes <= config.keep_bytes);
    tc_store_close(s);
}

/* Wherever it is: in a header, in a body's own bytes, which LZ4 does not notice, or in a length. */
static void what_is_damaged_while_it_waits_is_set_aside(void **state)
{
    char path[256];
    struct tc_store_config config = waiting_config();
    config.segment_bytes = 150000;
    for (uint64_t part = 1; part < 10; part++) {
        struct tc_store *s = open_store(&config);
        fill_large(s);
        assert_int_equal(list_open(".seg", path, sizeof path), 1);
        flip(path, file_size(path) * part / 10, 0x10);
        assert_int_equal(seal_all(s), 1);
        assert_int_equal(stats_of(s).damaged, 1);
        assert_int_equal(stats_of(s).sealed_hot, 1);
        /* Numbers go on as they did: nothing that was given out is in doubt. */
        assert_int_equal(tc_store_next_number(s), 31);
        assert_int_equal(append_one(s, 31, 100), TC_OK);
        tc_store_close(s);
        struct seen seen = {0};
        walk_all(&seen, 0);
        assert_int_equal(seen.count, 30);
        assert_int_equal(remove_dir(state), 0);
        assert_int_equal(make_dir(state), 0);
    }
}

/* Its end says that there is one more batch than there is: such a segment is not written anew. */
static void an_end_that_does_not_agree_is_not_trusted(void **state)
{
    (void)state;
    char path[256];
    static char bytes[1 << 20];
    struct tc__end end;
    struct tc__piece p;
    struct tc_store_config config = waiting_config();
    config.segment_bytes = 150000;
    struct tc_store *s = open_store(&config);
    fill_large(s);
    assert_int_equal(list_open(".seg", path, sizeof path), 1);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ssize_t len = read(fd, bytes, sizeof bytes);
    assert_true(len > (ssize_t)TC__END_BYTES);
    assert_true(tc__end_get(bytes + len - TC__END_BYTES, (uint64_t)len - TC__END_BYTES, &end));
    assert_true(tc__piece_get(bytes + end.table_at, end.table_at, &p));
    end.totals.batches++;
    tc__end_put(bytes + len - TC__END_BYTES, &end);
    p.payload_sum = tc__sum(bytes + end.table_at + TC__PIECE_BYTES, (size_t)p.payload_len, p.id);
    tc__piece_put(bytes + end.table_at, &p, end.table_at);
    assert_int_equal(pwrite(fd, bytes, (size_t)len, 0), len);
    (void)close(fd);
    assert_int_equal(seal_all(s), 1);
    assert_int_equal(stats_of(s).sealed_hot, 1);
    assert_int_equal(stats_of(s).damaged, 0);
    assert_int_equal(stats_of(s).kept_batches, 30);
    tc_store_close(s);
    expect_sound(30);
}

/* An object as an earlier program left it in open/, without its end: read, and not written on. */
static void segments_of_an_earlier_version_are_sealed(void **state)
{
    (void)state;
    char path[300];
    char to[300];
    char hex[80];
    char line[257] = {0};
    static char bytes[1 << 20];
    struct tc_store_config config = small_config();
    config.segment_bytes = 150000;
    struct tc_store *s = open_store(&config);
    fill_large(s);
    assert_int_equal(stats_of(s).sealed, 1);
    tc_store_close(s);
    (void)snprintf(path, sizeof path, "%s/objects.idx", test_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, line, 256), 256);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sscanf(line, "%*c %*u %*u %*u %*u %*u %*u %*u %*u %79s", hex), 1);
    (void)snprintf(path, sizeof path, "%s/objects/%.2s/%.64s", test_dir, hex, hex);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, bytes, sizeof bytes);
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    struct tc__end end;
    assert_true(tc__end_get(bytes + len - TC__END_BYTES, (uint64_t)len - TC__END_BYTES, &end));
    (void)snprintf(to, sizeof to, "%s/open/%020d.seg", test_dir, 1);
    fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    assert_int_equal(write(fd, bytes, end.table_at), end.table_at);
    (void)close(fd);
    expect_sound(30);
    config.seals_apart = true;
    config.segment_bytes = 1 << 20;
    s = open_store(&config);
    assert_int_equal(file_size(to), end.table_at);
    fill(s, 3, 1);
    assert_int_equal(file_size(to), end.table_at);
    assert_int_equal(list_open(".seg", NULL, 0), 2);
    expect_sound(33);
    assert_int_equal(seal_all(s), 1);
    /* Byte for byte what this program had made of it. */
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(file_size(path), len);
    expect_sound(33);
    tc_store_close(s);
}

/* What a process that died has left of a file that was not finished goes. */
static void unfinished_files_are_removed(void **state)
{
    (void)state;
    char path[256];
    struct tc_store_config config = waiting_config();
    struct tc_store *s = open_store(&config);
    fill(s, 30, 2);
    tc_store_close(s);
    (void)snprintf(path, sizeof path, "%s/open/%020d.new", test_dir, 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    assert_int_equal(write(fd, "TCSEGMT\n", 8), 8);
    (void)close(fd);
    expect_sound(30);
    s = open_store(&config);
    assert_int_equal(list_open(".new", NULL, 0), 0);
    (void)seal_all(s);
    expect_sound(30);
    tc_store_close(s);
}

/* A newer version than this program knows is refused, and nothing of it is touched. */
static void newer_versions_are_refused(void **state)
{
    (void)state;
    char path[256];
    char bytes[TC__HEAD_BYTES];
    struct tc_error err = {0};
    struct tc_store_config config = waiting_config();
    struct tc_store *s = open_store(&config);
    fill(s, 1, 1);
    tc_store_close(s);
    s = NULL;
    segment_path(path, sizeof path);
    tc__head_put(bytes,
                 &(struct tc__head){.first = 1, .id = 7, .version = TC__SEGMENT_VERSION + 1});
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, bytes, sizeof bytes, 0), sizeof bytes);
    (void)close(fd);
    assert_int_equal(tc_store_open(test_dir, &config, say, NULL, &s, &err), TC_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, "format version 3, this program knows up to 2"));
}

/* No payload gives more than its header says, or less, or is read past its end. */
static void blocks_are_unpacked_exactly(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 12, 13, 100, 70000, TC__PIECE_MAX};
    char *packed = malloc(TC__PAYLOAD_MAX);
    void *memory = malloc(tc__lz4_state_bytes());
    assert_true(packed != NULL && memory != NULL);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tc_slice body = body_of(i, sizes[i]);
        size_t len = tc__pack_lz4(memory, body.ptr, body.len, packed);
        assert_true(len > 0 && len <= TC__PAYLOAD_MAX);
        /* Memory of exactly that size: the sanitizer sees a byte too many. */
        char *in = malloc(len);
        char *out = malloc(body.len + 1);
        memcpy(in, packed, len);
        struct tc__piece p = {.piece_len = body.len, .payload_len = len, .is_lz4 = true};
        assert_true(tc__unpack(NULL, &p, in, out));
        assert_true(tc_slice_eq(tc_slice_make(out, body.len), body));
        for (size_t off = 1; off <= body.len && off < 20; off += 3) {
            struct tc__piece shorter = p;
            shorter.piece_len -= off;
            char *small = malloc((size_t)shorter.piece_len + (shorter.piece_len == 0));
            assert_false(tc__unpack(NULL, &shorter, in, small));
            free(small);
        }
        p.piece_len++;
        assert_false(tc__unpack(NULL, &p, in, out));
        p.piece_len = body.len;
        for (size_t cut = 1; cut <= len && cut < 20; cut++) {
            p.payload_len = len - cut;
            char *part = malloc(len - cut + (len == cut));
            memcpy(part, in, len - cut);
            assert_false(tc__unpack(NULL, &p, part, out));
            free(part);
        }
        free(in);
        free(out);
    }
    struct tc__piece huge = {.piece_len = TC__PIECE_MAX + 1, .payload_len = 1, .is_lz4 = true};
    assert_false(tc__unpack(NULL, &huge, packed, packed));
    free(packed);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_waits_and_is_compressed_anew, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(it_is_read_meanwhile_and_can_be_stopped, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(long_bodies_keep_their_pieces, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(too_many_are_sealed_as_they_are, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(it_ends_when_too_many_wait_meanwhile, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(waiting_segments_count_as_kept, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_damaged_while_it_waits_is_set_aside, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(an_end_that_does_not_agree_is_not_trusted, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(segments_of_an_earlier_version_are_sealed, make_dir,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(unfinished_files_are_removed, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(newer_versions_are_refused, make_dir, remove_dir),
        cmocka_unit_test(blocks_are_unpacked_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
