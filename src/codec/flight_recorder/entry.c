/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry of a Flight Recorder dump: what one rank knows of one collective or
 * point-to-point operation.
 */
#include "codec/flight_recorder/priv.h"

#include "base/buf.h"

/* Numbers in one list of sizes and bytes in one list of types: far above any call, so that
 * a list made of references cannot ask for more. */
#define SIZES_MAX ((size_t)1 << 20)
#define DTYPES_BYTES_MAX ((size_t)1 << 20)
#define NUMBER_TEXT_MAX 24 /* "-9223372036854775808", brackets, comma and space */

/* X(NAME, key), in the order in which PyTorch writes them. */
#define ENTRY_FIELDS(X)                          \
    X(RECORD_ID, "record_id")                    \
    X(PG_ID, "pg_id")                            \
    X(GROUP, "process_group")                    \
    X(SEQ, "collective_seq_id")                  \
    X(P2P_SEQ, "p2p_seq_id")                     \
    X(OP, "profiling_name")                      \
    X(CREATED, "time_created_ns")                \
    X(SIZES_IN, "input_sizes")                   \
    X(DTYPES_IN, "input_dtypes")                 \
    X(SIZES_OUT, "output_sizes")                 \
    X(DTYPES_OUT, "output_dtypes")               \
    X(STATE, "state")                            \
    X(STARTED, "time_discovered_started_ns")     \
    X(COMPLETED, "time_discovered_completed_ns") \
    X(RETIRED, "retired")                        \
    X(TIMEOUT, "timeout_ms")                     \
    X(IS_P2P, "is_p2p")

enum entry_field {
#define ENTRY_ENUM(name, key) FIELD_##name,
    ENTRY_FIELDS(ENTRY_ENUM)
#undef ENTRY_ENUM
        FIELD_COUNT
};

static const struct tc_slice NAMES[FIELD_COUNT] = {
#define ENTRY_NAME(name, key) [FIELD_##name] = {key, sizeof(key) - 1},
    ENTRY_FIELDS(ENTRY_NAME)
#undef ENTRY_NAME
};

static bool is_sequence(const struct tc__fr_value *v)
{
    return v->type == TC__FR_LIST || v->type == TC__FR_TUPLE;
}

/* "[[4096, 1, 5120]]" from a list of lists of integers, into b. */
static tc_status write_sizes(struct tc__fr_reader *r, const struct tc__fr_value *items,
                             size_t count, const char *field, struct tc_buf *b)
{
    tc_buf_char(b, '[');
    for (size_t i = 0; i < count; i++) {
        tc_arena_mark mark = tc_arena_snapshot(r->doc->scratch);
        struct tc__fr_value *sizes = NULL;
        size_t size_count = 0;
        if (i > 0) {
            tc_buf_lit(b, ", ");
        }
        TC_TRY(tc__fr_items(r, &items[i], &sizes, &size_count));
        tc_buf_char(b, '[');
        for (size_t k = 0; k < size_count; k++) {
            if (sizes[k].type != TC__FR_INT) {
                return tc__fr_wrong_type(r, &sizes[k], field, "an integer");
            }
            if (k > 0) {
                tc_buf_lit(b, ", ");
            }
            tc_buf_i64(b, sizes[k].integer);
        }
        tc_buf_char(b, ']');
        tc_arena_rewind(r->doc->scratch, mark);
    }
    tc_buf_char(b, ']');
    return TC_OK;
}

static tc_status sizes_text(struct tc__fr_reader *r, const struct tc__fr_value *items, size_t count,
                            const char *field, struct tc_buf *out)
{
    size_t numbers = 1;
    for (size_t i = 0; i < count; i++) {
        if (!is_sequence(&items[i])) {
            return tc__fr_wrong_type(r, &items[i], field, "a list of integers");
        }
        numbers += 1 + tc__fr_count(r, &items[i]);
        if (numbers > SIZES_MAX) {
            return tc_fail(r->doc->err, TC_E_LIMIT, items[i].start,
                           "%s holds more than %zu numbers at byte %u", field, SIZES_MAX,
                           items[i].start);
        }
    }
    char *text = tc_new(r->doc->scratch, char, numbers *NUMBER_TEXT_MAX);
    if (text == NULL) {
        return tc__fr_scratch_full(r->doc, count == 0 ? 0 : items[0].start);
    }
    *out = tc_buf_make(text, numbers * NUMBER_TEXT_MAX);
    return write_sizes(r, items, count, field, out);
}

/* "[BFloat16, Int]" from a list of strings. */
static tc_status dtypes_text(struct tc__fr_reader *r, const struct tc__fr_value *items,
                             size_t count, const char *field, struct tc_buf *out)
{
    struct tc_slice *names = tc_new(r->doc->scratch, struct tc_slice, count);
    size_t bytes = 2;
    for (size_t i = 0; names != NULL && i < count; i++) {
        if (items[i].type != TC__FR_STRING) {
            return tc__fr_wrong_type(r, &items[i], field, "a string");
        }
        TC_TRY(tc__fr_text(r, &items[i], r->doc->scratch, &names[i]));
        bytes += 2 + names[i].len;
        if (bytes > DTYPES_BYTES_MAX) {
            return tc_fail(r->doc->err, TC_E_LIMIT, items[i].start,
                           "%s holds more than %zu bytes at byte %u", field, DTYPES_BYTES_MAX,
                           items[i].start);
        }
    }
    char *text = tc_new(r->doc->scratch, char, bytes);
    if (text == NULL) {
        return tc__fr_scratch_full(r->doc, count == 0 ? 0 : items[0].start);
    }
    *out = tc_buf_make(text, bytes);
    tc_buf_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            tc_buf_lit(out, ", ");
        }
        tc_buf_str(out, names[i]);
    }
    tc_buf_char(out, ']');
    return TC_OK;
}

/*
 * The text of a list of sizes or types. Records repeat them, so the last texts are
 * kept by the bytes of their lists: equal bytes are equal lists, because a memo id
 * is given only once.
 */
static tc_status get_list(struct tc__fr_reader *r, const struct tc__fr_value *fields,
                          enum entry_field which, struct tc_slice *out)
{
    const struct tc__fr_value *v = &fields[which];
    const char *field = NAMES[which].ptr;
    bool is_dtypes = which == FIELD_DTYPES_IN || which == FIELD_DTYPES_OUT;
    if (tc__fr_is_absent(v)) {
        return TC_OK;
    }
    if (!is_sequence(v)) {
        return tc__fr_wrong_type(r, v, field, "a list");
    }
    struct tc_slice made_of = tc_slice_make(r->doc->bytes.ptr + v->at, v->end - v->at);
    TC_TRY(tc__fr_charge(r->doc, made_of.len, v->start));
    uint64_t hash = tc_slice_hash(made_of, 0) | 1;
    struct tc__fr_cached_text *cached = &r->cache[(hash >> 1) % TC__FR_CACHE_SLOTS];
    if (cached->hash == hash && cached->is_dtypes == is_dtypes &&
        tc_slice_eq(made_of,
                    tc_slice_make(r->doc->bytes.ptr + cached->range.at, cached->range.length))) {
        *out = cached->text;
        return TC_OK;
    }
    tc_arena_mark mark = tc_arena_snapshot(r->doc->scratch);
    struct tc__fr_value *items = NULL;
    size_t count = 0;
    struct tc_buf text = {0};
    TC_TRY(tc__fr_items(r, v, &items, &count));
    if (is_dtypes) {
        TC_TRY(dtypes_text(r, items, count, field, &text));
    } else {
        TC_TRY(sizes_text(r, items, count, field, &text));
    }
    *out = tc_arena_copy(r->arena, tc_buf_slice(&text));
    tc_arena_rewind(r->doc->scratch, mark);
    if (!tc_arena_ok(r->arena)) {
        return tc_fail(r->doc->err, TC_E_NOMEM, v->start, "no memory left in %s for %s at byte %u",
                       r->arena->name, field, v->start);
    }
    *cached = (struct tc__fr_cached_text){hash, tc__fr_range_of(v), *out, is_dtypes};
    return TC_OK;
}

/* (name, description), or only the name. */
static tc_status get_group(struct tc__fr_reader *r, const struct tc__fr_value *v,
                           struct tc_ev_nccl *ev)
{
    const char *field = NAMES[FIELD_GROUP].ptr;
    if (!is_sequence(v)) {
        return tc__fr_get_string(r, v, field, &ev->group);
    }
    tc_arena_mark mark = tc_arena_snapshot(r->doc->scratch);
    struct tc__fr_value *items = NULL;
    size_t count = 0;
    TC_TRY(tc__fr_items(r, v, &items, &count));
    if (count > 0) {
        TC_TRY(tc__fr_get_string(r, &items[0], field, &ev->group));
    }
    if (count > 1) {
        TC_TRY(tc__fr_get_string(r, &items[1], field, &ev->group_desc));
    }
    tc_arena_rewind(r->doc->scratch, mark);
    return TC_OK;
}

/*
 * "nccl:send 0->3" or "nccl:recv 0<-3": the second number is the other end, counted inside the
 * group. False when the operation names no other end.
 */
static bool split_p2p(struct tc_slice op, bool *out_send, uint64_t *out_local)
{
    bool send = tc_slice_starts(op, TC_LIT("send "));
    if (!send && !tc_slice_starts(op, TC_LIT("recv "))) {
        return false;
    }
    uint64_t local = 0;
    struct tc_slice rest = tc_slice_from(op, 5);
    size_t used = tc_slice_u64(rest, &local);
    rest = tc_slice_from(rest, used);
    if (used == 0 || !tc_slice_starts(rest, send ? TC_LIT("->") : TC_LIT("<-")) ||
        !tc_slice_is_u64(tc_slice_from(rest, 2), &local)) {
        return false;
    }
    *out_send = send;
    *out_local = local;
    return true;
}

static tc_status get_op(struct tc__fr_reader *r, const struct tc__fr_value *fields,
                        const struct tc__fr_group *group, struct tc__fr_record *out)
{
    struct tc_ev_nccl *ev = &out->ev;
    struct tc_slice name = TC_EMPTY;
    uint64_t local = 0;
    TC_TRY(tc__fr_get_string(r, &fields[FIELD_OP], NAMES[FIELD_OP].ptr, &name));
    size_t colon = tc_slice_find_byte(name, ':');
    ev->op = colon == TC_NPOS ? name : tc_slice_from(name, colon + 1);
    bool has_peer = split_p2p(ev->op, &ev->is_send, &local);
    if (has_peer && group != NULL && local < group->member_count) {
        ev->peer = group->members[local];
    }
    ev->is_p2p = has_peer; /* for dumps that do not say */
    TC_TRY(tc__fr_get_bool(r, &fields[FIELD_IS_P2P], NAMES[FIELD_IS_P2P].ptr, &ev->is_p2p));
    out->closes_batch = tc_slice_eq(ev->op, TC_LIT("coalesced"));
    if (ev->is_p2p || out->closes_batch) {
        const char *field = NAMES[FIELD_P2P_SEQ].ptr;
        TC_TRY(tc__fr_get_int(r, &fields[FIELD_P2P_SEQ], field, &out->p2p_seq));
    }
    if (ev->is_p2p) {
        ev->seq = out->p2p_seq;
        return TC_OK;
    }
    return tc__fr_get_int(r, &fields[FIELD_SEQ], NAMES[FIELD_SEQ].ptr, &ev->seq);
}

/* By its word; by its times when there is none or a newer format has a new one. */
static tc_status get_state(struct tc__fr_reader *r, const struct tc__fr_value *v,
                           struct tc_ev_nccl *ev)
{
    static const struct tc_slice words[] = {
        [TC_NCCL_SCHEDULED] = {"scheduled", sizeof "scheduled" - 1},
        [TC_NCCL_STARTED] = {"started", sizeof "started" - 1},
        [TC_NCCL_COMPLETED] = {"completed", sizeof "completed" - 1},
    };
    struct tc_slice word = TC_EMPTY;
    TC_TRY(tc__fr_get_string(r, v, NAMES[FIELD_STATE].ptr, &word));
    for (unsigned i = 0; i < TC_COUNT(words); i++) {
        if (tc_slice_eq(word, words[i])) {
            ev->state = (uint8_t)i;
            return TC_OK;
        }
    }
    if (!tc__fr_is_absent(v) && !r->newer) {
        return tc_fail(r->doc->err, TC_E_MALFORMED, v->start,
                       "state at byte %u is none of scheduled, started, completed", v->start);
    }
    ev->state = ev->completed_ns != TC_TIME_NONE ? TC_NCCL_COMPLETED
                : ev->started_ns != TC_TIME_NONE ? TC_NCCL_STARTED
                                                 : TC_NCCL_SCHEDULED;
    return TC_OK;
}

static tc_status get_scalars(struct tc__fr_reader *r, const struct tc__fr_value *fields,
                             struct tc__fr_record *out)
{
    struct tc_ev_nccl *ev = &out->ev;
#define GET(type, name, place) \
    tc__fr_get_##type(r, &fields[FIELD_##name], NAMES[FIELD_##name].ptr, place)
    TC_TRY(GET(int, RECORD_ID, &ev->record_id));
    TC_TRY(GET(int, PG_ID, &ev->pg_id));
    TC_TRY(GET(int, TIMEOUT, &ev->timeout_ms));
    TC_TRY(GET(bool, RETIRED, &ev->retired));
    TC_TRY(GET(time, CREATED, &out->time_ns));
    TC_TRY(GET(time, STARTED, &ev->started_ns));
    TC_TRY(GET(time, COMPLETED, &ev->completed_ns));
#undef GET
    return TC_OK;
}

tc_status tc__fr_entry_read(struct tc__fr_reader *r, const struct tc__fr_value *v,
                            struct tc__fr_record *out)
{
    struct tc__fr_value fields[FIELD_COUNT];
    struct tc_ev_nccl *ev = &out->ev;
    if (v->type != TC__FR_DICT) {
        return tc__fr_wrong_type(r, v, "an entry", "a dictionary");
    }
    *out = (struct tc__fr_record){
        .range = tc__fr_range_of(v),
        .p2p_seq = -1,
        .ev = {.seq = -1, .record_id = -1, .pg_id = -1, .peer = -1, .from_dump = true}};
    TC_TRY(tc__fr_gather(r, v, NAMES, fields, FIELD_COUNT));
    TC_TRY(get_scalars(r, fields, out));
    TC_TRY(get_group(r, &fields[FIELD_GROUP], ev));
    struct tc__fr_group *group = tc__fr_find_group(r, ev->group);
    if (group != NULL) {
        ev->group_key = group->ev.group_key;
        ev->group_desc = ev->group_desc.len > 0 ? ev->group_desc : group->ev.group_desc;
    } else {
        ev->group_key = tc_nccl_group_key(r->job, ev->group, TC_EMPTY);
    }
    TC_TRY(get_op(r, fields, group, out));
    TC_TRY(get_state(r, &fields[FIELD_STATE], ev));
    TC_TRY(get_list(r, fields, FIELD_SIZES_IN, &ev->sizes_in));
    TC_TRY(get_list(r, fields, FIELD_SIZES_OUT, &ev->sizes_out));
    TC_TRY(get_list(r, fields, FIELD_DTYPES_IN, &ev->dtypes_in));
    TC_TRY(get_list(r, fields, FIELD_DTYPES_OUT, &ev->dtypes_out));

    /* pg_status knows groups by a number of this process; only an entry says which it is. */
    struct tc__fr_status *status = tc__fr_status_of(r, out);
    if (status != NULL && status->ev.group_key == 0) {
        status->ev.group = ev->group;
        status->ev.group_key = ev->group_key;
    }
    tc__fr_link(r, group, status, out);
    return TC_OK;
}
