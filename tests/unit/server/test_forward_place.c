/* SPDX-License-Identifier: Apache-2.0 */
/* How far what is stored was forwarded: written, read, and noticed when it is damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/forward/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];
static char path[80];
static struct tc_error err;

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/tc_forward_place_XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/forward", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

static void fill(struct tc_forward_place *p)
{
    *p = (struct tc_forward_place){.count = TC_FORWARD_ENDPOINTS_MAX};
    assert_int_equal(tc_forward_place_renew(p, &err), TC_OK);
    for (size_t i = 0; i < p->count; i++) {
        memset(p->endpoints[i].url, 'a' + (int)i, TC_FORWARD_URL_MAX - 1);
        p->endpoints[i].position = UINT64_MAX - i;
    }
}

static size_t read_text(char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t len = fread(out, 1, size, file);
    (void)fclose(file);
    return len;
}

static void write_text(const char *text, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    (void)fclose(file);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct tc_forward_place p;
    struct tc_forward_place same;
    assert_int_equal(tc_forward_place_read(dir, &same, &err), TC_OK); /* no file */
    assert_int_equal(same.count + same.agent[0] + same.agent[1], 0);
    fill(&p);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tc_forward_place_write(dir, &p, &err), TC_OK);
        assert_int_equal(tc_forward_place_read(dir, &same, &err), TC_OK);
        assert_memory_equal(&same, &p, sizeof p);
    }
    struct tc_forward_place other = p;
    assert_int_equal(tc_forward_place_renew(&other, &err), TC_OK);
    assert_memory_not_equal(other.agent, p.agent, sizeof p.agent);
}

static void damage_is_noticed(void **state)
{
    (void)state;
    static char text[8192];
    struct tc_forward_place p;
    fill(&p);
    p.count = 2;
    assert_int_equal(tc_forward_place_write(dir, &p, &err), TC_OK);
    size_t len = read_text(text, sizeof text);
    for (size_t i = 0; i < len; i++) {
        text[i] ^= 1;
        write_text(text, len);
        tc_status status = tc_forward_place_read(dir, &p, &err);
        text[i] ^= 1;
        bool is_version = i == sizeof "tracecore-forward " - 1; /* 1 becomes 0 */
        assert_int_equal(status, TC_E_MALFORMED);
        assert_int_equal(p.count, 0);
        assert_non_null(strstr(err.message, is_version ? "forward" : "damaged"));
    }
    for (size_t i = 0; i < len; i++) {
        write_text(text, i);
        assert_int_equal(tc_forward_place_read(dir, &p, &err), TC_E_MALFORMED);
    }
    text[sizeof "tracecore-forward " - 1] = '2';
    write_text(text, len);
    assert_int_equal(tc_forward_place_read(dir, &p, &err), TC_E_UNSUPPORTED);
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    struct tc_forward_place p = {.count = 0};
    assert_int_equal(tc_forward_place_write("/nowhere", &p, &err), TC_E_IO);
    assert_non_null(strstr(err.message, "/nowhere/forward"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_said, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
