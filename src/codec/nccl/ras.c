/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL's own monitor prints: `ncclras -f json`, from NCCL 2.28.7 on, one
 * document a snapshot, any number of them in one file. NCCL 2.28.9 leaves out the
 * comma before "status" of a missing rank, and RCCL prints lines of text before
 * the document: commas are therefore not looked at, and text around the documents
 * is stepped over. What is ambiguous is an error.
 *
 * A rank is known by its number in a communicator. The numbers of the largest
 * communicator are taken for global ranks when it holds every process that the
 * document names, and no other of its size numbers them otherwise.
 */
#include "base/json/raw.h"
#include "base/limits.h"
#include "base/table/sort.h"
#include "base/time.h"
#include "codec/codec.h"
#include "codec/decode_priv.h"
#include "codec/nccl/priv.h"

#define NCCL_IN_PROGRESS 7 /* ncclInProgress of nccl.h: no error */

/* One rank, as a communicator lists it. */
struct member {
    struct tc_slice text; /* the exact bytes */
    struct tc_slice host; /* "" unknown */
    struct tc_slice status;
    int64_t rank;
    int64_t pid;
    int64_t gpu;
    int64_t ops;
};

struct communicator {
    struct tc_slice text;
    struct tc_slice hash;
    struct tc_slice ranks; /* arrays, "" when absent */
    struct tc_slice missing;
    int64_t size;
};

/* The processes of the largest communicator, by who they are. */
struct world {
    struct tc_slice comm; /* its text; "" when it is no world */
    int64_t size;
    struct member *members;
    struct tc_sort_pair *index; /* hash to member */
    size_t count;
};

struct ras {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc_error *err;
    struct tc_error why;  /* what is wrong with the document at hand */
    struct tc_slice list; /* its communicators */
    struct world world;
    int64_t time_ns;
};

static size_t offset_of(const struct ras *r, struct tc_slice part)
{
    return (size_t)(part.ptr - r->in->bytes.ptr);
}

static tc_status broken(struct ras *r, struct tc_slice at, const char *what)
{
    return tc_fail(&r->why, TC_E_MALFORMED, offset_of(r, at), "%s", what);
}

enum step { STEP_ITEM, STEP_END, STEP_BROKEN };

/* From behind the opening bracket or the item before to the next item; commas do not matter. */
static enum step next_item(struct tc_slice text, size_t *io_at)
{
    size_t at = *io_at == 0 ? 1 : *io_at;
    while (at < text.len && strchr(" \t\r\n,", text.ptr[at]) != NULL && text.ptr[at] != '\0') {
        at++;
    }
    *io_at = at;
    if (at + 1 >= text.len) { /* the closing bracket is the last byte of what was cut out */
        char close = text.ptr[0] == '{' ? '}' : ']';
        return text.ptr[text.len - 1] == close ? STEP_END : STEP_BROKEN;
    }
    return text.ptr[at] == '}' || text.ptr[at] == ']' ? STEP_BROKEN : STEP_ITEM;
}

static enum step next_element(struct tc_slice array, size_t *io_at, struct tc_slice *out)
{
    enum step step = next_item(array, io_at);
    return step == STEP_ITEM && !tc_json_raw_value(array, io_at, out) ? STEP_BROKEN : step;
}

static enum step next_member(struct tc_slice object, size_t *io_at, struct tc_slice *out_key,
                             struct tc_slice *out)
{
    struct tc_slice key;
    enum step step = next_item(object, io_at);
    if (step != STEP_ITEM) {
        return step;
    }
    if (object.ptr[*io_at] != '"' || !tc_json_raw_value(object, io_at, &key)) {
        return STEP_BROKEN;
    }
    struct tc_slice colon = tc_slice_trim(tc_slice_from(object, *io_at));
    if (colon.len == 0 || colon.ptr[0] != ':') {
        return STEP_BROKEN;
    }
    *io_at = (size_t)(colon.ptr - object.ptr) + 1;
    *out_key = tc_slice_make(key.ptr + 1, key.len - 2);
    return tc_json_raw_value(object, io_at, out) ? STEP_ITEM : STEP_BROKEN;
}

static bool is_object(struct tc_slice value)
{
    return value.len >= 2 && value.ptr[0] == '{';
}

static bool is_array(struct tc_slice value)
{
    return value.len >= 2 && value.ptr[0] == '[';
}

/* Hosts, hashes and times need no escapes; what has one is not known. */
static struct tc_slice text_of(struct tc_slice value)
{
    if (value.len < 2 || value.ptr[0] != '"' || tc_slice_find_byte(value, '\\') != TC_NPOS) {
        return TC_EMPTY;
    }
    return tc_slice_make(value.ptr + 1, value.len - 2);
}

/* A number in [0, max], or -1. */
static int64_t number_of(struct tc_slice value, int64_t max)
{
    int64_t number = -1;
    return tc_slice_is_i64(value, &number) && number >= 0 && number <= max ? number : -1;
}

static bool is_true(struct tc_slice value)
{
    return tc_slice_eq(value, TC_LIT("true"));
}

/* The sum of the counts of all collectives; -1 when it does not fit. */
static enum step sum_counts(struct tc_slice object, int64_t *out)
{
    struct tc_slice key;
    struct tc_slice value;
    int64_t sum = 0;
    size_t at = 0;
    enum step step;
    while ((step = next_member(object, &at, &key, &value)) == STEP_ITEM) {
        int64_t count = number_of(value, INT64_MAX);
        if (count < 0 || sum < 0 || __builtin_add_overflow(sum, count, &sum)) {
            sum = -1;
        }
    }
    *out = sum;
    return step;
}

/* In the order in which NCCL's own report looks at a rank. */
static enum step read_status(struct tc_slice object, bool missing, struct tc_slice *out)
{
    struct tc_slice key;
    struct tc_slice value;
    int64_t init = 0;
    int64_t async = 0;
    bool aborted = false;
    bool ending = false;
    bool dead = false;
    bool answered = false;
    size_t at = 0;
    enum step step;
    while ((step = next_member(object, &at, &key, &value)) == STEP_ITEM) {
        init = tc_slice_eq(key, TC_LIT("init_state")) ? number_of(value, INT32_MAX) : init;
        async = tc_slice_eq(key, TC_LIT("async_error")) ? number_of(value, INT32_MAX) : async;
        aborted = tc_slice_eq(key, TC_LIT("abort_flag")) ? is_true(value) : aborted;
        dead = tc_slice_eq(key, TC_LIT("considered_dead")) ? is_true(value) : dead;
        ending = ending || (is_true(value) && (tc_slice_eq(key, TC_LIT("finalize_called")) ||
                                               tc_slice_eq(key, TC_LIT("destroy_flag"))));
        answered = answered || (tc_slice_eq(key, TC_LIT("unresponsive")) &&
                                tc_slice_eq(value, TC_LIT("false")));
    }
    if (missing) {
        /* Its process answered, but not for this communicator: it has left or not yet joined. */
        *out = dead ? TC_LIT("dead") : answered ? TC_LIT("no_comm") : TC_LIT("missing");
    } else if (aborted) {
        *out = TC_LIT("aborted");
    } else if ((init != 0 && init != NCCL_IN_PROGRESS) ||
               (async != 0 && async != NCCL_IN_PROGRESS)) {
        *out = TC_LIT("error");
    } else if (ending) {
        *out = TC_LIT("finalizing");
    } else {
        *out = init == 0 ? TC_LIT("running") : TC_LIT("init");
    }
    return step;
}

static enum step read_member(struct tc_slice object, bool missing, struct member *out)
{
    struct tc_slice key;
    struct tc_slice value;
    int64_t cuda = -1;
    size_t at = 0;
    enum step step;
    *out = (struct member){.text = object, .rank = -1, .pid = -1, .gpu = -1, .ops = -1};
    out->status = missing ? TC_LIT("missing") : TC_LIT("running");
    while ((step = next_member(object, &at, &key, &value)) == STEP_ITEM) {
        if (tc_slice_eq(key, TC_LIT("rank"))) {
            out->rank = number_of(value, TC_FR_RANK_MAX);
        } else if (tc_slice_eq(key, TC_LIT("host"))) {
            out->host = text_of(value);
        } else if (tc_slice_eq(key, TC_LIT("pid"))) {
            out->pid = number_of(value, INT32_MAX);
        } else if (tc_slice_eq(key, TC_LIT("cuda_dev"))) {
            cuda = number_of(value, UINT16_MAX);
        } else if (tc_slice_eq(key, TC_LIT("nvml_dev"))) {
            out->gpu = number_of(value, UINT16_MAX);
        } else if (tc_slice_eq(key, TC_LIT("status")) && is_object(value)) {
            step = read_status(value, missing, &out->status);
        } else if (tc_slice_eq(key, TC_LIT("collective_counts")) && is_object(value)) {
            step = sum_counts(value, &out->ops);
        }
        if (step == STEP_BROKEN) {
            return step;
        }
    }
    /* CUDA counts the devices a process may see, NVML those of the node, as the driver does. */
    out->gpu = out->gpu < 0 ? cuda : out->gpu;
    out->host = tc_slice_eq(out->host, TC_LIT("unknown")) ? TC_EMPTY : out->host;
    return step;
}

static tc_status read_communicator(struct ras *r, struct tc_slice object, struct communicator *out)
{
    struct tc_slice key;
    struct tc_slice value;
    size_t at = 0;
    enum step step = STEP_BROKEN;
    *out = (struct communicator){.text = object, .size = -1};
    while (is_object(object) && (step = next_member(object, &at, &key, &value)) == STEP_ITEM) {
        if (tc_slice_eq(key, TC_LIT("hash"))) {
            out->hash = text_of(value);
        } else if (tc_slice_eq(key, TC_LIT("size"))) {
            out->size = number_of(value, TC_FR_RANK_MAX + 1);
        } else if (tc_slice_eq(key, TC_LIT("ranks")) && is_array(value)) {
            out->ranks = value;
        } else if (tc_slice_eq(key, TC_LIT("missing_ranks")) && is_array(value)) {
            out->missing = value;
        }
    }
    if (step == STEP_BROKEN) {
        return broken(r, object, "a communicator that is not JSON");
    }
    if (out->hash.len == 0 || out->size <= 0) {
        return broken(r, object,
                      "a communicator without \"hash\", or whose \"size\" is no number of ranks");
    }
    return TC_OK;
}

typedef tc_status (*member_fn)(struct ras *r, const struct communicator *c, const struct member *m,
                               bool missing);

static tc_status each_member(struct ras *r, const struct communicator *c, member_fn visit)
{
    for (int missing = 0; missing < 2; missing++) {
        struct tc_slice list = missing ? c->missing : c->ranks;
        struct tc_slice object;
        size_t at = 0;
        enum step step = STEP_END;
        while (list.len > 0 && (step = next_element(list, &at, &object)) == STEP_ITEM) {
            struct member m;
            if (!is_object(object) || read_member(object, missing, &m) == STEP_BROKEN) {
                return broken(r, object, "a rank that is not JSON");
            }
            if (m.rank < 0 || m.rank >= c->size) {
                return broken(r, object, "a rank without a \"rank\" below the communicator's size");
            }
            TC_TRY(visit(r, c, &m, missing));
        }
        if (step == STEP_BROKEN) {
            return broken(r, list, "a list of ranks that is not JSON");
        }
    }
    return TC_OK;
}

typedef tc_status (*communicator_fn)(struct ras *r, const struct communicator *c);

static tc_status each_communicator(struct ras *r, communicator_fn visit)
{
    struct tc_slice object;
    struct communicator c;
    size_t at = 0;
    enum step step;
    while ((step = next_element(r->list, &at, &object)) == STEP_ITEM) {
        TC_TRY(read_communicator(r, object, &c));
        TC_TRY(visit(r, &c));
    }
    return step == STEP_END ? TC_OK : broken(r, r->list, "\"communicators\" is not JSON");
}

static uint64_t identity_hash(const struct member *m)
{
    return tc_hash_mix(tc_slice_hash(m->host, (uint64_t)m->pid), (uint64_t)m->gpu);
}

static bool has_identity(const struct member *m)
{
    return m->host.len > 0 && m->pid >= 0;
}

/* The member of the largest communicator that is the same process and GPU, or NULL. */
static const struct member *find_in_world(const struct world *w, const struct member *m)
{
    uint64_t hash = identity_hash(m);
    size_t low = 0;
    size_t high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->index[middle].key < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < w->count && w->index[low].key == hash; low++) {
        const struct member *other = &w->members[w->index[low].value];
        if (other->pid == m->pid && other->gpu == m->gpu && tc_slice_eq(other->host, m->host)) {
            return other;
        }
    }
    return NULL;
}

static tc_status count_member(struct ras *r, const struct communicator *c, const struct member *m,
                              bool missing)
{
    (void)c;
    (void)m;
    (void)missing;
    r->world.count++;
    return TC_OK;
}

static tc_status keep_member(struct ras *r, const struct communicator *c, const struct member *m,
                             bool missing)
{
    struct world *w = &r->world;
    (void)c;
    (void)missing;
    w->index[w->count] = (struct tc_sort_pair){identity_hash(m), w->count};
    w->members[w->count++] = *m;
    return TC_OK;
}

/* Remembers which communicator is the largest: the first of them. */
static tc_status find_largest(struct ras *r, const struct communicator *c)
{
    if (c->size > r->world.size) {
        r->world.comm = c->text;
        r->world.size = c->size;
    }
    return TC_OK;
}

static tc_status check_member(struct ras *r, const struct communicator *c, const struct member *m,
                              bool missing)
{
    struct world *w = &r->world;
    const struct member *known = has_identity(m) ? find_in_world(w, m) : NULL;
    bool outside = has_identity(m) && known == NULL;
    bool renumbered = known != NULL && known->rank != m->rank && c->size == w->size;
    (void)missing;
    if (outside || renumbered) {
        w->comm = TC_EMPTY;
    }
    return TC_OK;
}

static tc_status check_world(struct ras *r, const struct communicator *c)
{
    return r->world.comm.len == 0 ? TC_OK : each_member(r, c, check_member);
}

/* Finds out whether the largest communicator numbers everybody. The table is in scratch. */
static tc_status learn_world(struct ras *r)
{
    struct world *w = &r->world;
    struct communicator c;
    struct tc_sort_pair *spare = NULL;
    *w = (struct world){0};
    TC_TRY(each_communicator(r, find_largest));
    if (w->comm.len == 0) {
        return TC_OK;
    }
    TC_TRY(read_communicator(r, w->comm, &c));
    TC_TRY(each_member(r, &c, count_member));
    w->members = tc_new(r->out->scratch, struct member, w->count);
    w->index = tc_new(r->out->scratch, struct tc_sort_pair, w->count);
    spare = tc_new(r->out->scratch, struct tc_sort_pair, w->count);
    if (spare == NULL) {
        return tc_fail(&r->why, TC_E_NOMEM, offset_of(r, w->comm), "no memory for %zu ranks",
                       w->count);
    }
    w->count = 0;
    TC_TRY(each_member(r, &c, keep_member));
    tc_sort_keys(w->index, spare, w->count);
    return each_communicator(r, check_world);
}

static tc_status deliver(struct ras *r, struct tc_event *ev, const struct member *m)
{
    uint64_t length = m->text.len < UINT32_MAX ? m->text.len : UINT32_MAX;
    ev->time_ns = r->time_ns;
    ev->raw = (struct tc_raw){r->in->source, (uint32_t)length, offset_of(r, m->text)};
    ev->scope.node = m->host;
    ev->scope.job = r->in->job;
    ev->scope.pid = m->pid;
    ev->scope.gpu_index = (int32_t)m->gpu;
    r->cursor->events++;
    return r->out->event(r->out->context, ev);
}

static tc_status emit_member(struct ras *r, const struct communicator *c, const struct member *m,
                             bool missing)
{
    const struct world *w = &r->world;
    bool is_world = w->comm.len > 0 && w->comm.ptr == c->text.ptr;
    const struct member *known = m;
    struct tc_event ev;
    (void)missing;
    if (!is_world) {
        known = w->comm.len > 0 && has_identity(m) ? find_in_world(w, m) : NULL;
    }
    tc_event_init(&ev, TC_EVENT_NCCL_RAS);
    ev.scope.rank = known == NULL ? -1 : (int32_t)known->rank;
    ev.ras = (struct tc_ev_ras){.comm = c->hash,
                                .status = m->status,
                                .comm_rank = m->rank,
                                .comm_size = c->size,
                                .ops = m->ops};
    TC_TRY(deliver(r, &ev, m));
    if (!is_world || m->host.len == 0) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    ev.scope.rank = (int32_t)m->rank;
    ev.place = (struct tc_ev_place){.origin = TC_LIT("ncclras"), .world_size = c->size};
    return deliver(r, &ev, m);
}

static tc_status emit_communicator(struct ras *r, const struct communicator *c)
{
    return each_member(r, c, emit_member);
}

static tc_status unknown(struct ras *r, size_t from, size_t to, const char *why)
{
    return tc__codec_unknown(r->in, r->cursor, r->out, from, to - from, why);
}

/* One snapshot. All of it is understood before any of it is delivered. */
static tc_status read_document(struct ras *r, struct tc_slice document)
{
    struct tc_slice key;
    struct tc_slice value;
    struct tc_slice timestamp = TC_EMPTY;
    size_t at = 0;
    enum step step;
    r->list = TC_EMPTY;
    while ((step = next_member(document, &at, &key, &value)) == STEP_ITEM) {
        if (tc_slice_eq(key, TC_LIT("timestamp"))) {
            timestamp = text_of(value);
        } else if (tc_slice_eq(key, TC_LIT("communicators")) && is_array(value)) {
            r->list = value;
        }
    }
    if (step == STEP_BROKEN) {
        return broken(r, document, "a report that is not JSON");
    }
    if (r->list.len == 0) {
        size_t start = offset_of(r, document);
        return unknown(r, start, start + document.len, "an object without communicators");
    }
    /* The time of the host that was asked, without a zone. */
    r->time_ns = r->in->now_ns;
    int64_t ns = 0;
    if (timestamp.len > 0 && tc_time_parse(timestamp, r->in->utc_offset_s, &ns) == timestamp.len) {
        r->time_ns = ns;
    }
    tc_arena_mark mark = tc_arena_snapshot(r->out->scratch);
    tc_status status = learn_world(r);
    if (status == TC_OK) {
        status = each_communicator(r, emit_communicator);
    }
    if (tc_arena_ok(r->out->scratch)) {
        tc_arena_rewind(r->out->scratch, mark);
    }
    return status;
}

static bool is_blank(struct tc_slice text)
{
    return tc_slice_trim(text).len == 0;
}

/* The next document, and what stands before it. A bad one is told at the end. */
static tc_status read_documents(struct ras *r)
{
    struct tc_slice bytes = r->in->bytes;
    struct tc_error first = {.status = TC_OK};
    size_t at = tc_slice_bom(bytes);
    while (at < bytes.len) {
        struct tc_slice rest = tc_slice_from(bytes, at);
        size_t brace = tc_slice_find_byte(rest, '{');
        size_t start = brace == TC_NPOS ? bytes.len : at + brace;
        if (!is_blank(tc_slice_make(rest.ptr, start - at))) {
            TC_TRY(unknown(r, at, start, "text outside of a report"));
        }
        struct tc_slice document;
        at = start;
        if (at == bytes.len) {
            break;
        }
        if (!tc_json_raw_value(bytes, &at, &document)) {
            (void)tc_fail(&r->why, TC_E_MALFORMED, start,
                          "the report is cut off: a part of a snapshot says nothing");
            first = first.status == TC_OK ? r->why : first;
            break;
        }
        tc_status status = read_document(r, document);
        if (status != TC_OK && status != TC_E_MALFORMED) {
            first = r->why;
            first.status = status;
            break;
        }
        first = status != TC_OK && first.status == TC_OK ? r->why : first;
    }
    r->cursor->offset = bytes.len;
    r->cursor->done = true;
    return first.status == TC_OK ? TC_OK
                                 : tc_fail(r->err, first.status, first.offset, "%s", first.message);
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct ras r = {.in = in, .cursor = cursor, .out = out, .err = err, .time_ns = TC_TIME_NONE};
    return cursor->done                 ? TC_OK
           : tc__ras_is_text(in->bytes) ? tc__ras_text_decode(in, cursor, out, err)
                                        : read_documents(&r);
}

/* Nothing else has both members; a job without communicators has an empty list. */
static int sniff(struct tc_codec_head head)
{
    bool lists = tc_slice_contains(head.bytes, TC_LIT("\"communicators\"")) &&
                 tc_slice_contains(head.bytes, TC_LIT("\"communicators_count\""));
    bool shape = tc_slice_contains(head.bytes, TC_LIT("\"communicators\"")) &&
                 tc_slice_contains(head.bytes, TC_LIT("\"collective_counts\""));
    return lists || shape || tc__ras_is_text(head.bytes) ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

const struct tc_codec tc_codec_ncclras = {
    .name = "ncclras",
    .summary = "NCCL's own monitor: ncclras, as JSON or text",
    .known_by = "the headings of `ncclras`, or its JSON",
    .gives = "nccl_ras, rank_place",
    .example = "#0    2a (4)  ... RUNNING  OK",
    .ordered = false,
    .sniff = sniff,
    .decode = decode,
};
