/* SPDX-License-Identifier: Apache-2.0 */
#include "support/detect_harness.h"

#include "base/arena.h"
#include "base/json/json.h"
#include "base/os/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SCRATCH_BYTES ((size_t)4 << 20)
#define DUMP_BYTES ((size_t)8 << 20)
#define SCHEMA_BYTES ((size_t)1 << 20)

struct copy {
    struct tc_finding finding;
    void *block;
    struct tc_arena arena;
    struct copy *next;
};

struct tc_harness {
    const struct tc_detector *detector;
    struct tc_harness_options options;
    void *state;
    struct tc_block *window_block;
    struct tc_block *scratch_block;
    struct tc_arena window;
    struct tc_arena scratch;
    struct tc_sink sink;
    struct copy *first;
    struct copy **end;
    size_t count;
    char *dump;
    tc_status init_status;
    struct tc_directory *directory;
};

static void *must(void *p)
{
    if (p == NULL) {
        fail_msg("out of memory");
    }
    return p;
}

static struct tc_slice text(struct tc_arena *a, struct tc_slice s)
{
    return s.len == 0 ? TC_EMPTY : tc_arena_copy(a, s);
}

static void copy_scope(struct tc_arena *a, struct tc_scope *s)
{
    s->node = text(a, s->node);
    s->ns = text(a, s->ns);
    s->pod = text(a, s->pod);
    s->pod_uid = text(a, s->pod_uid);
    s->container = text(a, s->container);
    s->job = text(a, s->job);
    s->gpu_uuid = text(a, s->gpu_uuid);
}

static void copy_attrs(struct tc_arena *a, struct tc_finding *f)
{
    struct tc_attr *attrs = tc_new(a, struct tc_attr, f->attr_count);
    for (size_t i = 0; i < f->attr_count; i++) {
        attrs[i] = f->attrs[i];
        switch (attrs[i].type) {
        case TC_ATTR_STRING:
            attrs[i].string = text(a, attrs[i].string);
            break;
        case TC_ATTR_INTS: {
            int32_t *ints = tc_new(a, int32_t, attrs[i].count);
            memcpy(ints, attrs[i].ints, attrs[i].count * sizeof *ints);
            attrs[i].ints = ints;
            break;
        }
        case TC_ATTR_STRINGS: {
            struct tc_slice *strings = tc_new(a, struct tc_slice, attrs[i].count);
            for (size_t k = 0; k < attrs[i].count; k++) {
                strings[k] = text(a, attrs[i].strings[k]);
            }
            attrs[i].strings = strings;
            break;
        }
        case TC_ATTR_SCOPES: {
            struct tc_scope *scopes = tc_new(a, struct tc_scope, attrs[i].count);
            for (size_t k = 0; k < attrs[i].count; k++) {
                scopes[k] = attrs[i].scopes[k];
                copy_scope(a, &scopes[k]);
            }
            attrs[i].scopes = scopes;
            break;
        }
        case TC_ATTR_INT:
        case TC_ATTR_BOOL:
            break;
        }
    }
    f->attrs = attrs;
}

static void copy_trail(struct tc_arena *a, struct tc_finding *f)
{
    struct tc_evidence *evidence = tc_new(a, struct tc_evidence, f->evidence_count);
    for (size_t i = 0; i < f->evidence_count; i++) {
        evidence[i] = f->evidence[i];
        evidence[i].kind = text(a, evidence[i].kind);
        evidence[i].uid = text(a, evidence[i].uid);
        evidence[i].description = text(a, evidence[i].description);
    }
    f->evidence = evidence;
    struct tc_cause *causes = tc_new(a, struct tc_cause, f->cause_count);
    for (size_t i = 0; i < f->cause_count; i++) {
        causes[i].key = text(a, f->causes[i].key);
        causes[i].why = text(a, f->causes[i].why);
    }
    f->causes = causes;
}

static size_t bytes_of(const struct tc_finding *f)
{
    size_t bytes = 4096 + f->key.len + f->headline.len + f->remediation.len;
    bytes += f->scope.node.len + f->scope.ns.len + f->scope.pod.len + f->scope.pod_uid.len +
             f->scope.container.len + f->scope.job.len + f->scope.gpu_uuid.len;
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *attr = &f->attrs[i];
        bytes += sizeof *attr + attr->count * sizeof(struct tc_slice) + 64;
        bytes += attr->type == TC_ATTR_STRING ? attr->string.len : 0;
        for (size_t k = 0; attr->type == TC_ATTR_STRINGS && k < attr->count; k++) {
            bytes += attr->strings[k].len + 32;
        }
    }
    for (size_t i = 0; i < f->evidence_count; i++) {
        bytes += sizeof f->evidence[i] + f->evidence[i].uid.len + f->evidence[i].kind.len +
                 f->evidence[i].description.len + 128;
    }
    for (size_t i = 0; i < f->cause_count; i++) {
        bytes += sizeof f->causes[i] + f->causes[i].key.len + f->causes[i].why.len + 64;
    }
    return bytes;
}

static tc_status collect(void *context, const struct tc_finding *finding)
{
    struct tc_harness *h = context;
    if (h->options.sink_status != TC_OK) {
        return h->options.sink_status;
    }
    struct copy *c = must(calloc(1, sizeof *c));
    size_t bytes = bytes_of(finding);
    c->block = must(malloc(bytes));
    tc_arena_init(&c->arena, "finding", c->block, bytes);
    struct tc_finding *f = &c->finding;
    *f = *finding;
    f->pattern_id = text(&c->arena, f->pattern_id);
    f->pattern_name = text(&c->arena, f->pattern_name);
    f->key = text(&c->arena, f->key);
    f->discriminator = text(&c->arena, f->discriminator);
    f->headline = text(&c->arena, f->headline);
    f->remediation = text(&c->arena, f->remediation);
    copy_scope(&c->arena, &f->scope);
    copy_attrs(&c->arena, f);
    copy_trail(&c->arena, f);
    assert_true(tc_arena_ok(&c->arena));
    *h->end = c;
    h->end = &c->next;
    h->count++;
    return TC_OK;
}

struct tc_harness *tc_harness_create(const struct tc_detector *d,
                                     const struct tc_harness_options *options)
{
    struct tc_harness *h = must(calloc(1, sizeof *h));
    h->detector = d;
    h->options = options == NULL ? (struct tc_harness_options){0} : *options;
    h->end = &h->first;
    h->sink = (struct tc_sink){collect, h};
    size_t window = h->options.arena_bytes == 0 ? d->arena_bytes : h->options.arena_bytes;
    size_t scratch = h->options.scratch_bytes == 0 ? SCRATCH_BYTES : h->options.scratch_bytes;
    h->state = must(calloc(1, d->state_bytes));
    h->window_block = must(tc_block_new(window));
    h->scratch_block = must(tc_block_new(scratch));
    tc_arena_init_zeroed(&h->window, d->name, h->window_block->bytes, window);
    tc_arena_init_zeroed(&h->scratch, "scratch", h->scratch_block->bytes, scratch);
    bool found = h->options.param == NULL;
    for (size_t i = 0; i < d->param_count; i++) {
        bool chosen = !found && strcmp(d->params[i].name, h->options.param) == 0;
        found = found || chosen;
        *(int64_t *)(void *)((char *)h->state + d->params[i].offset) =
            chosen ? h->options.value : d->params[i].value;
    }
    assert_true(found);
    h->directory = must(tc_directory_create(TC_STATEMENTS_NONE, 1));
    struct tc_detector_env env = {
        .arena = &h->window, .directory = h->directory, .scratch = &h->scratch};
    h->init_status = tc_detector_init(d, h->state, &env);
    return h;
}

void tc_harness_clear(struct tc_harness *h)
{
    while (h->first != NULL) {
        struct copy *c = h->first;
        h->first = c->next;
        tc_arena_fini(&c->arena);
        free(c->block);
        free(c);
    }
    h->end = &h->first;
    h->count = 0;
}

void tc_harness_destroy(struct tc_harness *h)
{
    if (h == NULL) {
        return;
    }
    tc_harness_clear(h);
    tc_directory_destroy(h->directory);
    tc_arena_fini(&h->window);
    tc_arena_fini(&h->scratch);
    tc_block_free(h->window_block);
    tc_block_free(h->scratch_block);
    free(h->state);
    free(h->dump);
    free(h);
}

tc_status tc_harness_init_status(const struct tc_harness *h)
{
    return h->init_status;
}

/* As the engine does before what makes time pass. */
static tc_status advance(struct tc_harness *h, int64_t now_ns)
{
    tc_arena_reset(&h->scratch);
    return tc_detector_advance(h->detector, h->state, now_ns, &h->sink);
}

tc_status tc_harness_try_feed(struct tc_harness *h, const struct tc_event *ev)
{
    uint32_t wanted = h->detector->kinds & TC_EVENT_BIT(ev->kind);
    assert_true((wanted | (tc_directory_kinds(h->directory) & TC_EVENT_BIT(ev->kind))) != 0);
    TC_TRY(advance(h, ev->time_ns));
    tc_directory_note(h->directory, ev);
    tc_arena_reset(&h->scratch);
    return wanted == 0 ? TC_OK : h->detector->on_event(h->state, ev, &h->sink);
}

tc_status tc_harness_try_finish(struct tc_harness *h, int64_t now_ns)
{
    if (now_ns != TC_TIME_NONE) {
        TC_TRY(advance(h, now_ns));
    }
    tc_arena_reset(&h->scratch);
    return h->detector->on_finish(h->state, now_ns, &h->sink);
}

void tc_harness_feed(struct tc_harness *h, const struct tc_event *ev)
{
    assert_int_equal(h->init_status, TC_OK);
    assert_int_equal(tc_harness_try_feed(h, ev), TC_OK);
}

void tc_harness_tick(struct tc_harness *h, int64_t now_ns)
{
    tc_arena_reset(&h->scratch);
    assert_int_equal(tc_detector_tick(h->detector, h->state, now_ns, &h->sink), TC_OK);
}

void tc_harness_finish(struct tc_harness *h, int64_t now_ns)
{
    assert_int_equal(tc_harness_try_finish(h, now_ns), TC_OK);
}

size_t tc_harness_count(const struct tc_harness *h)
{
    return h->count;
}

const struct tc_finding *tc_harness_finding(const struct tc_harness *h, long index)
{
    long at = index < 0 ? (long)h->count + index : index;
    assert_true(at >= 0 && at < (long)h->count);
    const struct copy *c = h->first;
    for (; at > 0; at--) {
        c = c->next;
    }
    return &c->finding;
}

struct tc_detector_stats tc_harness_stats(const struct tc_harness *h)
{
    struct tc_detector_stats stats = {0};
    tc_detector_stats(h->detector, h->state, &stats);
    return stats;
}

static void dump_line(struct tc_buf *b, const char *name, struct tc_slice value)
{
    tc_buf_str(b, tc_slice_cstr(name));
    tc_buf_char(b, '=');
    tc_buf_str(b, value);
    tc_buf_char(b, '\n');
}

static void dump_number(struct tc_buf *b, const char *name, int64_t value)
{
    char digits[24];
    struct tc_buf number = tc_buf_make(digits, sizeof digits);
    tc_buf_i64(&number, value);
    dump_line(b, name, tc_buf_slice(&number));
}

static void dump_finding(struct tc_buf *b, const struct tc_finding *f)
{
    dump_line(b, "key", f->key);
    dump_number(b, "resolved", f->resolved);
    dump_number(b, "incomplete", f->incomplete);
    dump_number(b, "severity", (int64_t)f->severity);
    dump_number(b, "confidence", (int64_t)f->confidence);
    dump_line(b, "discriminator", f->discriminator);
    dump_line(b, "headline", f->headline);
    dump_line(b, "remediation", f->remediation);
    dump_number(b, "first", f->first_ns);
    dump_number(b, "last", f->last_ns);
    dump_line(b, "node", f->scope.node);
    dump_line(b, "ns", f->scope.ns);
    dump_line(b, "pod", f->scope.pod);
    dump_line(b, "pod_uid", f->scope.pod_uid);
    dump_line(b, "container", f->scope.container);
    dump_line(b, "gpu", f->scope.gpu_uuid);
    tc_buf_bdf(b, f->scope.pci);
    dump_number(b, "pid", f->scope.pid);
    for (size_t i = 0; i < f->attr_count; i++) {
        const struct tc_attr *a = &f->attrs[i];
        dump_line(b, "attr", a->key);
        if (a->type == TC_ATTR_STRING) {
            dump_line(b, "text", a->string);
        } else if (a->type == TC_ATTR_INT) {
            dump_number(b, "int", a->integer);
        }
    }
    for (size_t i = 0; i < f->evidence_count; i++) {
        dump_line(b, "kind", f->evidence[i].kind);
        dump_line(b, "uid", f->evidence[i].uid);
        dump_number(b, "time", f->evidence[i].time_ns);
        dump_line(b, "description", f->evidence[i].description);
    }
    tc_buf_char(b, '\n');
}

struct tc_slice tc_harness_dump(struct tc_harness *h)
{
    free(h->dump);
    h->dump = must(malloc(DUMP_BYTES));
    struct tc_buf b = tc_buf_make(h->dump, DUMP_BYTES);
    for (const struct copy *c = h->first; c != NULL; c = c->next) {
        dump_finding(&b, &c->finding);
    }
    assert_false(b.overflowed);
    return tc_buf_slice(&b);
}

static const struct tc_attr *find_attr(const struct tc_finding *f, const char *key)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        if (tc_slice_eq(f->attrs[i].key, tc_slice_cstr(key))) {
            return &f->attrs[i];
        }
    }
    return NULL;
}

bool tc_harness_has(const struct tc_finding *f, const char *key)
{
    return find_attr(f, key) != NULL;
}

int64_t tc_harness_int(const struct tc_finding *f, const char *key)
{
    const struct tc_attr *a = find_attr(f, key);
    assert_non_null(a);
    assert_int_equal(a->type, TC_ATTR_INT);
    return a->integer;
}

struct tc_slice tc_harness_text(const struct tc_finding *f, const char *key)
{
    const struct tc_attr *a = find_attr(f, key);
    assert_non_null(a);
    assert_int_equal(a->type, TC_ATTR_STRING);
    return a->string;
}

static struct tc_slice read_schema(struct tc_slice pattern, char *out)
{
    const char *root = getenv("TC_SOURCE_DIR");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/schemas/verdict/%.*s.schema.json",
                   root == NULL ? "." : root, TC_FMT(pattern));
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("cannot open %s (TC_SOURCE_DIR)", path);
    }
    size_t len = fread(out, 1, SCHEMA_BYTES, file);
    (void)fclose(file);
    return tc_slice_make(out, len);
}

static struct tc_json member(struct tc_json v, struct tc_slice key)
{
    struct tc_json out = v;
    if (!tc_json_get(v, key, &out)) {
        fail_msg("the schema has no \"%.*s\"", TC_FMT(key));
    }
    return out;
}

/* Follows a $ref into the $defs of the same file. */
static struct tc_json follow(struct tc_json root, struct tc_json v)
{
    struct tc_slice ref = tc_json_get_string(v, TC_LIT("$ref"));
    struct tc_slice prefix = TC_LIT("#/$defs/");
    return tc_slice_starts(ref, prefix)
               ? member(member(root, TC_LIT("$defs")), tc_slice_from(ref, prefix.len))
               : v;
}

static bool allows_word(struct tc_json v, struct tc_slice word)
{
    struct tc_json list;
    if (!tc_json_get(v, TC_LIT("enum"), &list)) {
        struct tc_slice fixed = tc_json_get_string(v, TC_LIT("const"));
        return fixed.len == 0 ? tc_slice_eq(tc_json_get_string(v, TC_LIT("type")), TC_LIT("string"))
                              : tc_slice_eq(fixed, word);
    }
    struct tc_json_iter it = tc_json_iter_make(list);
    for (struct tc_json item; tc_json_iter_next(&it, NULL, &item);) {
        struct tc_slice text_item;
        if (tc_json_string(item, &text_item) && tc_slice_eq(text_item, word)) {
            return true;
        }
    }
    return false;
}

static void check_word(struct tc_json root, struct tc_json properties, struct tc_slice key,
                       struct tc_slice word)
{
    if (!allows_word(follow(root, member(properties, key)), word)) {
        fail_msg("\"%.*s\": \"%.*s\" is not what the schema allows", TC_FMT(key), TC_FMT(word));
    }
}

static void check_attr(struct tc_json root, struct tc_json properties, const struct tc_attr *a)
{
    if (a->type == TC_ATTR_STRING) {
        check_word(root, properties, a->key, a->string);
        return;
    }
    struct tc_json v = follow(root, member(properties, a->key));
    struct tc_slice type = tc_json_get_string(v, TC_LIT("type"));
    struct tc_slice wanted = TC_LIT("array");
    if (a->type == TC_ATTR_INT) {
        wanted = TC_LIT("integer");
        assert_true(a->integer >= tc_json_get_int(v, TC_LIT("minimum"), INT64_MIN));
    } else if (a->type == TC_ATTR_BOOL) {
        wanted = TC_LIT("boolean");
    }
    assert_true(tc_slice_eq(type, wanted));
}

static void check_required(struct tc_json root, const struct tc_finding *f)
{
    struct tc_json_iter it = tc_json_iter_make(member(root, TC_LIT("required")));
    for (struct tc_json item; tc_json_iter_next(&it, NULL, &item);) {
        struct tc_slice key = TC_EMPTY;
        assert_true(tc_json_string(item, &key));
        bool there = !tc_slice_starts(key, TC_LIT("tracecore."));
        for (size_t i = 0; i < f->attr_count; i++) {
            there = there || tc_slice_eq(f->attrs[i].key, key);
        }
        if (!there) {
            fail_msg("the finding lacks \"%.*s\"", TC_FMT(key));
        }
    }
}

void tc_harness_conforms(const struct tc_finding *f)
{
    char *bytes = must(malloc(SCHEMA_BYTES));
    struct tc_json_parser *parser = must(tc_json_parser_create());
    struct tc_json root;
    struct tc_error err = {0};
    if (tc_json_parse(parser, read_schema(f->pattern_name, bytes), &root, &err) != TC_OK) {
        fail_msg("schema: %s", err.message);
    }
    bool open = true;
    assert_true(tc_json_bool(member(root, TC_LIT("additionalProperties")), &open) && !open);
    struct tc_json properties = member(root, TC_LIT("properties"));
    static const char *const severities[] = {"info", "warning", "critical"};
    check_word(root, properties, TC_LIT("pattern.id"), f->pattern_id);
    check_word(root, properties, TC_LIT("pattern.name"), f->pattern_name);
    check_word(root, properties, TC_LIT("discriminator"), f->discriminator);
    check_word(root, properties, TC_LIT("severity"), tc_slice_cstr(severities[f->severity]));
    check_word(root, properties, TC_LIT("status"),
               f->resolved ? TC_LIT("resolved") : TC_LIT("open"));
    assert_true(f->headline.len > 0 && f->remediation.len > 0 && f->key.len > 0);
    assert_true(f->first_ns <= f->last_ns);
    for (size_t i = 0; i < f->attr_count; i++) {
        check_attr(root, properties, &f->attrs[i]);
    }
    check_required(root, f);
    struct tc_json trail = member(properties, TC_LIT("evidence_trail"));
    struct tc_json entry = follow(root, member(trail, TC_LIT("items")));
    assert_true((int64_t)f->evidence_count >= tc_json_get_int(trail, TC_LIT("minItems"), 1));
    for (size_t i = 0; i < f->evidence_count; i++) {
        check_word(root, member(entry, TC_LIT("properties")), TC_LIT("kind"), f->evidence[i].kind);
        assert_true(f->evidence[i].uid.len > 0 && f->evidence[i].description.len > 0);
        assert_true(i == 0 || f->evidence[i].time_ns >= f->evidence[i - 1].time_ns);
    }
    tc_json_parser_destroy(parser);
    free(bytes);
}
