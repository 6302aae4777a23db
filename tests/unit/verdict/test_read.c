/* SPDX-License-Identifier: Apache-2.0 */
/* All names, times and bytes here are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "verdict/read.h"
#include "verdict/render.h"

#include <string.h>

static const char DIGEST[] =
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    (void)context;
    *out = (struct tc_source_view){.digest = TC_LIT(DIGEST)};
    return index == 0;
}

static uint32_t add_source(void *context, struct tc_slice digest)
{
    (void)context;
    assert_true(tc_slice_eq(digest, TC_LIT(DIGEST)));
    return 0;
}

static tc_status read_back(struct tc_json_parser *parser, struct tc_arena *arena, const char *text,
                           struct tc_verdict *v, struct tc_finding *f)
{
    struct tc_json object;
    struct tc_error err;
    tc_arena_reset(arena);
    assert_int_equal(tc_json_parse(parser, tc_slice_cstr(text), &object, &err), TC_OK);
    return tc_verdict_read_json(object, arena, add_source, NULL, v, f);
}

static _Alignas(max_align_t) char block[1 << 18];

static void what_is_read_is_rendered_as_it_was(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"pattern.id\":\"3\",\"pattern.name\":\"hbm_ecc\",\"incident_id\":\"aa\",\"status\":"
        "\"resolved\",\"severity\":\"critical\",\"confidence\":\"partial\",\"discriminator\":"
        "\"contained\",\"headline\":\"a \\\"b\\\"\",\"remediation\":\"c\",\"first_seen\":"
        "\"2026-11-15T03:04:05.123Z\",\"last_seen\":\"2026-11-15T03:04:06Z\",\"detected_at\":"
        "\"2026-11-15T03:04:07Z\",\"incomplete\":true,\"root\":true,\"caused_by\":[{"
        "\"incident_id\":\"bb\",\"why\":\"w\"}],\"incident_group\":\"cc\",\"k8s.node.name\":\"n\","
        "\"k8s.namespace.name\":\"ns\",\"k8s.pod.name\":\"p\",\"k8s.pod.uid\":\"u\","
        "\"k8s.container.name\":\"c\",\"job.id\":\"j\",\"gpu.uuid\":\"GPU-1\",\"pci.bdf\":"
        "\"0000:b3:00.0\",\"rank\":5,\"gpu.index\":1,\"process.pid\":42,"
        "\"tracecore.alert.x.count\":-3,\"tracecore.alert.x.flag\":true,\"tracecore.alert.x.text\":"
        "\"t\",\"tracecore.alert.x.ranks\":[1,2],\"tracecore.alert.x.names\":[\"a\",\"b\"],"
        "\"tracecore.alert.x.none\":[],\"tracecore.alert.x.at\":[{\"k8s.node.name\":\"n\","
        "\"pci.bdf\":\"0000:b3:00.0\",\"rank\":5},{\"rank\":6}],\"evidence_trail\":[{\"kind\":"
        "\"xid\",\"uid\":\"1\","
        "\"time\":"
        "\"2026-11-15T03:04:05Z\",\"description\":\"d\",\"raw\":{\"digest\":"
        "\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"offset\":7,"
        "\"length\":9}},{\"kind\":\"k\",\"uid\":\"\",\"description\":\"\"}]}",
        "{\"pattern.id\":\"1\",\"pattern.name\":\"nccl_hang\",\"incident_id\":\"aa\",\"status\":"
        "\"open\",\"severity\":\"info\",\"confidence\":\"full\",\"discriminator\":\"d\","
        "\"undated\":"
        "true,\"evidence_trail\":[]}",
    };
    static char out[8192];
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_arena arena;
    struct tc_sources sources = {view, NULL};
    tc_arena_init(&arena, "verdict", block, sizeof block);
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        struct tc_verdict v;
        struct tc_finding f;
        struct tc_buf b = tc_buf_make(out, sizeof out - 1);
        assert_int_equal(read_back(parser, &arena, texts[i], &v, &f), TC_OK);
        tc_verdict_render_json(&b, &v, &sources);
        out[b.len] = '\0';
        assert_string_equal(out, texts[i]);
    }
    tc_arena_fini(&arena);
    tc_json_parser_destroy(parser);
}

static void what_is_no_verdict_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        "[]",
        "{\"pattern.name\":\"x\",\"incident_id\":\"a\",\"status\":\"open\",\"severity\":\"loud\"}",
        "{\"pattern.name\":\"x\",\"incident_id\":\"a\",\"status\":\"gone\",\"severity\":\"info\"}",
        "{\"pattern.name\":\"x\",\"status\":\"open\",\"severity\":\"info\"}",
        "{\"pattern.name\":5,\"incident_id\":\"a\",\"status\":\"open\",\"severity\":\"info\"}",
    };
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_arena arena;
    struct tc_verdict v;
    struct tc_finding f;
    tc_arena_init(&arena, "verdict", block, sizeof block);
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        assert_int_equal(read_back(parser, &arena, texts[i], &v, &f), TC_E_MALFORMED);
    }
    /* Members of the wrong type are left out, one by one. */
    const char *odd =
        "{\"pattern.name\":\"x\",\"incident_id\":\"a\",\"status\":\"open\",\"severity\":"
        "\"info\",\"rank\":-9,\"gpu.index\":99999999999,\"pci.bdf\":\"nowhere\","
        "\"first_seen\":\"noon\",\"m\":[1,\"a\"],\"o\":{},\"d\":1.5,\"z\":null,"
        "\"evidence_trail\":[{\"raw\":{\"digest\":\"x\",\"offset\":-1}},7],"
        "\"caused_by\":\"nobody\"}";
    assert_int_equal(read_back(parser, &arena, odd, &v, &f), TC_OK);
    assert_int_equal(f.attr_count, 0);
    assert_int_equal(f.scope.rank, -1);
    assert_int_equal(f.scope.gpu_index, -1);
    assert_false(f.scope.pci.known);
    assert_int_equal(f.evidence_count, 2);
    assert_int_equal(f.evidence[0].raw.source, TC_SOURCE_NONE);
    assert_int_equal(v.cause_count, 0);
    tc_arena_fini(&arena);
    /* No room. */
    tc_arena_init(&arena, "verdict", block, 64);
    assert_int_equal(read_back(parser, &arena, odd, &v, &f), TC_E_NOMEM);
    tc_arena_fini(&arena);
    tc_json_parser_destroy(parser);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_rendered_as_it_was),
        cmocka_unit_test(what_is_no_verdict_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
