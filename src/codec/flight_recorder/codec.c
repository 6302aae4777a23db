/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's Flight Recorder dumps: one file per rank, pickle (protocol 2 to 5) or
 * JSON. A dump is read whole before anything is delivered: its records are all
 * there, or one event says that this rank's dump is unreadable and why. A rank
 * whose dump is torn is news about that rank.
 */
#include "codec/codec.h"
#include "codec/flight_recorder/priv.h"

#include "base/buf.h"
#include "base/limits.h"

/* How often a byte may be looked at. A dump as PyTorch writes it needs about 10; more is left
 * for other picklers, and a file made of references to itself still ends in linear time. */
#define WORK_FACTOR 64
#define WORK_BASE 65536

/* A torn dump may end before anything in it can be recognised: up to here its name will do. */
#define TORN_MAX 200

#define PICKLE_PROTO '\x80'

/* The last component of a path without the suffix of a format. */
static struct tc_slice stem_of(struct tc_slice name)
{
    static const struct tc_slice suffixes[] = {
        {".json", sizeof ".json" - 1},
        {".pickle", sizeof ".pickle" - 1},
        {".pkl", sizeof ".pkl" - 1},
    };
    for (size_t slash = tc_slice_find_byte(name, '/'); slash != TC_NPOS;
         slash = tc_slice_find_byte(name, '/')) {
        name = tc_slice_from(name, slash + 1);
    }
    for (size_t i = 0; i < TC_COUNT(suffixes); i++) {
        if (tc_slice_ends(name, suffixes[i])) {
            return tc_slice_head(name, name.len - suffixes[i].len);
        }
    }
    return name;
}

/* The rank at the end of a stem, -1 when there is none; *out_before is what is ahead of it. */
static int32_t rank_of(struct tc_slice stem, struct tc_slice *out_before)
{
    size_t at = stem.len;
    uint64_t rank = 0;
    while (at > 0 && tc_is_digit(stem.ptr[at - 1])) {
        at--;
    }
    *out_before = tc_slice_head(stem, at);
    if (!tc_slice_is_u64(tc_slice_from(stem, at), &rank) || rank > TC_FR_RANK_MAX) {
        return -1;
    }
    return (int32_t)rank;
}

/*
 * The host in a name like "nccl_trace_gpu-07_5", which is what a prefix with the host's name in
 * it gives: what lies between the usual beginnings and the rank. Empty when there is none.
 */
static struct tc_slice host_of(struct tc_slice before)
{
    static const struct tc_slice beginnings[] = {
        {"nccl_trace_rank_", sizeof "nccl_trace_rank_" - 1},
        {"comm_lib_trace_rank_", sizeof "comm_lib_trace_rank_" - 1},
        {"nccl_trace_", sizeof "nccl_trace_" - 1},
        {"comm_lib_trace_", sizeof "comm_lib_trace_" - 1},
        {"fr_trace_", sizeof "fr_trace_" - 1},
        {"trace_", sizeof "trace_" - 1},
    };
    for (size_t i = 0; i < TC_COUNT(beginnings); i++) {
        struct tc_slice host = tc_slice_from(before, beginnings[i].len);
        if (tc_slice_starts(before, beginnings[i]) && tc_slice_ends(before, TC_LIT("_"))) {
            host = host.len > 0 ? tc_slice_head(host, host.len - 1) : TC_EMPTY;
            bool part = tc_slice_eq(host, TC_LIT("rank")) || tc_slice_ends(host, TC_LIT("_rank"));
            return part ? TC_EMPTY : host;
        }
    }
    return TC_EMPTY;
}

static bool has_dump_name(struct tc_slice name)
{
    struct tc_slice before = TC_EMPTY;
    return rank_of(stem_of(name), &before) >= 0 && (tc_slice_ends(before, TC_LIT("_dump_")) ||
                                                    tc_slice_ends(before, TC_LIT("trace_rank_")));
}

static int sniff_pickle(struct tc_slice head)
{
    if (head.len < 3 || head.ptr[1] < 2 || head.ptr[1] > 5) {
        return TC_SNIFF_NO;
    }
    /* A frame's header is an opcode and eight bytes; behind it, the dump's dictionary. */
    size_t first = head.ptr[2] == '\x95' ? 11 : 2;
    if (first >= head.len || head.ptr[first] != '}') {
        return TC_SNIFF_NO;
    }
    return tc_slice_contains_any(head, "pg_config", "entries", "pg_status", "nccl_version",
                                 "comm_lib_version", "version")
               ? TC_SNIFF_SURE
               : TC_SNIFF_MAYBE;
}

static int sniff_json(struct tc_slice head)
{
    bool config = tc_slice_contains(head, TC_LIT("\"pg_config\""));
    if (config && tc_slice_contains(head, TC_LIT("\"version\""))) {
        return TC_SNIFF_SURE;
    }
    bool ours = config || tc_slice_contains(head, TC_LIT("\"pg_status\"")) ||
                tc_slice_contains(head, TC_LIT("\"nccl_version\"")) ||
                tc_slice_contains(head, TC_LIT("\"comm_lib_version\""));
    return ours && tc_slice_contains(head, TC_LIT("\"entries\"")) ? TC_SNIFF_SURE : TC_SNIFF_NO;
}

static int sniff(struct tc_codec_head head)
{
    struct tc_slice text = tc_slice_trim(head.bytes);
    int score = TC_SNIFF_NO;
    bool is_pickle = head.bytes.len > 0 && head.bytes.ptr[0] == PICKLE_PROTO;
    if (is_pickle) {
        score = sniff_pickle(head.bytes);
    } else if (text.len > 0 && text.ptr[0] == '{') {
        score = sniff_json(text);
    }
    bool is_torn = head.at_end && head.bytes.len <= TORN_MAX;
    if (score < TC_SNIFF_LIKELY && (is_pickle || is_torn) && has_dump_name(head.name)) {
        score = TC_SNIFF_LIKELY;
    }
    return score;
}

/* An event of this dump; raw is the whole file. */
static struct tc_event event_of(const struct tc_codec_input *in, enum tc_event_kind kind,
                                int32_t rank)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    ev.raw.source = in->source;
    ev.raw.length = in->bytes.len > UINT32_MAX ? UINT32_MAX : (uint32_t)in->bytes.len;
    ev.scope.rank = rank;
    ev.scope.job = in->job;
    ev.scope.node = in->node;
    return ev;
}

static void set_raw(struct tc_event *ev, struct tc__fr_range range)
{
    ev->raw.offset = range.at;
    ev->raw.length = range.length;
}

static tc_status emit(struct tc_codec_out *out, struct tc_codec_cursor *cursor,
                      const struct tc_event *ev)
{
    TC_TRY(out->event(out->context, ev));
    cursor->events++;
    return TC_OK;
}

static tc_status deliver(const struct tc_codec_input *in, const struct tc__fr_dump *dump,
                         int32_t rank, struct tc_codec_cursor *cursor, struct tc_codec_out *out)
{
    struct tc_event ev = event_of(in, TC_EVENT_NCCL_DUMP, rank);
    ev.time_ns = dump->newest_ns;
    ev.dump.version = dump->version;
    ev.dump.library = dump->library;
    ev.dump.entries = (int64_t)dump->record_count;
    TC_TRY(emit(out, cursor, &ev));

    ev = event_of(in, TC_EVENT_NCCL_GROUP, rank);
    for (size_t i = 0; i < dump->group_count; i++) {
        ev.group = dump->groups[i].ev;
        set_raw(&ev, dump->groups[i].range);
        TC_TRY(emit(out, cursor, &ev));
    }
    ev = event_of(in, TC_EVENT_NCCL_STATUS, rank);
    ev.time_ns = dump->newest_ns;
    for (size_t i = 0; i < dump->status_count; i++) {
        ev.status = dump->statuses[i].ev;
        set_raw(&ev, dump->statuses[i].range);
        TC_TRY(emit(out, cursor, &ev));
    }
    ev = event_of(in, TC_EVENT_NCCL_RECORD, rank);
    for (size_t i = 0; i < dump->record_count; i++) {
        ev.nccl = dump->records[i].ev;
        ev.time_ns = dump->records[i].time_ns;
        set_raw(&ev, dump->records[i].range);
        TC_TRY(emit(out, cursor, &ev));
    }
    return TC_OK;
}

/* Where the rank ran, by the name of its file or folder. The word may be a node's or a pod's name:
 * whoever uses it looks for one that is known from elsewhere. */
static tc_status deliver_place(const struct tc_codec_input *in, int32_t rank,
                               struct tc_slice before, struct tc_codec_cursor *cursor,
                               struct tc_codec_out *out)
{
    struct tc_slice host = host_of(before);
    struct tc_event ev = event_of(in, TC_EVENT_RANK_PLACE, rank);
    ev.scope.node = host.len > 0 ? host : in->place;
    ev.place.origin = TC_LIT("name");
    return rank < 0 || ev.scope.node.len == 0 ? TC_OK : emit(out, cursor, &ev);
}

/* Says that this rank's dump is unreadable. The receiver's own failure does not count here:
 * the dump's is the one to report. */
static void deliver_failure(const struct tc_codec_input *in, int32_t rank,
                            const struct tc_error *err, struct tc_codec_cursor *cursor,
                            struct tc_codec_out *out)
{
    struct tc_event ev = event_of(in, TC_EVENT_NCCL_DUMP, rank);
    ev.dump.error = tc_arena_copy(out->arena, tc_slice_cstr(err->message));
    if (ev.dump.error.len == 0) {
        ev.dump.error = tc_slice_cstr(tc_status_text(err->status));
    }
    (void)emit(out, cursor, &ev);
}

/* The whole dump into *out_dump and its rank, or an error. */
static tc_status read_dump(const struct tc_codec_input *in, struct tc__fr_doc *doc,
                           struct tc_arena *arena, struct tc__fr_dump *out_dump, int32_t *io_rank)
{
    struct tc__fr_value root;
    struct tc_slice text = tc_slice_trim(in->bytes);
    if (in->bytes.len == 0) {
        return tc_fail(doc->err, TC_E_MALFORMED, 0, "the dump is empty");
    }
    if (in->bytes.ptr[0] == PICKLE_PROTO) {
        TC_TRY(tc__fr_pickle_open(doc, &root));
    } else if (text.len > 0 && text.ptr[0] == '{') {
        doc->parser = tc_json_parser_create();
        if (doc->parser == NULL) {
            return tc_fail(doc->err, TC_E_NOMEM, 0, "no memory for a JSON parser");
        }
        TC_TRY(tc__fr_json_open(doc, &root));
    } else {
        return tc_fail(doc->err, TC_E_MALFORMED, 0,
                       "not a Flight Recorder dump: neither a pickle nor a JSON object");
    }
    TC_TRY(tc__fr_dump_read(doc, &root, in->job, arena, out_dump));
    if (*io_rank < 0) {
        *io_rank = (int32_t)out_dump->rank;
    }
    if (*io_rank < 0) {
        char shown[160];
        struct tc_buf b = tc_buf_make(shown, sizeof shown);
        tc_buf_printable(&b, stem_of(in->name));
        return tc_fail(doc->err, TC_E_MALFORMED, 0,
                       "whose dump is it? The name '%.*s' does not end in a rank, and no rank is "
                       "written inside",
                       TC_FMT(tc_buf_slice(&b)));
    }
    return TC_OK;
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct tc_error own_error = {0};
    struct tc_slice before = TC_EMPTY;
    struct tc__fr_dump dump = {0};
    if (cursor->done) {
        return TC_OK;
    }
    struct tc__fr_doc doc = {.bytes = in->bytes,
                             .scratch = out->scratch,
                             .err = err != NULL ? err : &own_error,
                             .work_left = WORK_BASE + (uint64_t)in->bytes.len * WORK_FACTOR};
    int32_t rank = rank_of(stem_of(in->name), &before);
    tc_arena_mark scratch_mark = tc_arena_snapshot(out->scratch);
    tc_arena_mark arena_mark = tc_arena_snapshot(out->arena);

    tc_status status = read_dump(in, &doc, out->arena, &dump, &rank);
    cursor->done = true;
    if (status == TC_OK) {
        cursor->offset = in->bytes.len;
        status = deliver(in, &dump, rank, cursor, out);
    } else {
        cursor->offset = doc.err->offset;
        tc_arena_rewind(out->arena, arena_mark);
        deliver_failure(in, rank, doc.err, cursor, out);
    }
    if (status == TC_OK) {
        status = deliver_place(in, rank, before, cursor, out);
    }
    tc_json_parser_destroy(doc.parser);
    tc_arena_rewind(out->scratch, scratch_mark);
    return status;
}

const struct tc_codec tc_codec_flight_recorder = {
    .name = "flight_recorder",
    .summary = "PyTorch NCCL Flight Recorder dumps, pickle or JSON, one file per rank",
    .known_by = "a pickle or an object with `entries`, `version` and the groups",
    .gives = "nccl_record, nccl_group, nccl_status, nccl_dump",
    .example = "{\"version\": \"2.9\", \"pg_config\": {...}, \"entries\": [{\"record_id\": 7, ...",
    .ordered = false,
    .sniff = sniff,
    .decode = decode,
};
