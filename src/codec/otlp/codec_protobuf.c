/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OTLP request in protobuf as a file: what the daemon keeps as evidence, or what a client
 * sent. Read by the daemon's own reader, so as strictly. Nothing in such bytes says that they are
 * OTLP but their shape: the whole beginning has to have it.
 */
#include "codec/otlp/wire.h"

#include "base/pb.h"

/* The tag of field 1 and of field 2 as messages. */
#define TAG_FIRST 0x0a
#define TAG_SECOND 0x12

static const enum tc_otlp_signal SIGNALS[] = {TC_OTLP_LOGS, TC_OTLP_METRICS, TC_OTLP_TRACES};
#define SIGNAL_COUNT TC_COUNT(SIGNALS)

/* The tape, as a request of the signal that it is of. The three have different types in the same
 * places, so that a request with records is of one only. */
static tc_status check_signals(struct tc_otlp_reader *r, struct tc_slice bytes,
                               struct tc_otlp_tape *out, struct tc_error *err)
{
    struct tc_error first = {0};
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        struct tc_error why = {0};
        tc_status status = tc_otlp_check(r, SIGNALS[i], TC_OTLP_PROTOBUF, bytes, out, &why);
        if (status == TC_OK) {
            return TC_OK;
        }
        /* Whoever came farthest understood it best. */
        if (first.status == TC_OK || why.offset > first.offset) {
            first = why;
        }
    }
    if (err != NULL) {
        *err = first;
    }
    return first.status;
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct tc_otlp_tape tape = {0};
    struct tc_otlp_reader *r =
        cursor->done ? NULL : tc_otlp_reader_create(&TC_OTLP_LIMITS_FILE, in->bytes.len);
    if (cursor->done) {
        return TC_OK;
    }
    cursor->done = true;
    cursor->offset = in->bytes.len;
    if (r == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a request of %zu bytes", in->bytes.len);
    }
    tc_status status = check_signals(r, in->bytes, &tape, err);
    if (status == TC_OK) {
        status = tc_otlp_events(r, &tape, in, out, err);
    }
    const struct tc_codec_cursor *seen = tc_otlp_reader_seen(r);
    cursor->events += seen->events;
    cursor->undated += seen->undated;
    cursor->unknown += seen->unknown + tape.counts.rejected;
    cursor->cut += seen->cut;
    tc_otlp_reader_destroy(r);
    return status;
}

/*
 * Steps into the first message of the bytes: request, resource's entries, scope's entries, record.
 * False when they do not have that shape. Lengths may go past the head when it is not all.
 */
static bool enter(struct tc_pb *p, unsigned char tag, bool at_end)
{
    uint64_t length = 0;
    if (p->end - p->at < 2 || p->at[0] != tag) {
        return false;
    }
    p->at++;
    if (!tc_pb_varint(p, &length)) {
        return false;
    }
    size_t room = (size_t)(p->end - p->at);
    if (length == 0 || (length > room && at_end)) {
        return false;
    }
    p->end = length < room ? p->at + length : p->end;
    return true;
}

/* Over a message that may be there before the entries: the resource, the scope. */
static bool step_over(struct tc_pb *p)
{
    size_t length = 0;
    if (p->end - p->at < 2 || p->at[0] != TAG_FIRST) {
        return true;
    }
    p->at++;
    if (!tc_pb_length(p, &length)) {
        return false;
    }
    p->at += length;
    return true;
}

/* Down to the first record, which begins with a tag of field 1 to 16 that some signal has. */
static bool has_shape(struct tc_slice head, bool at_end)
{
    const unsigned char *bytes = (const unsigned char *)head.ptr;
    struct tc_pb p = {.at = bytes, .end = bytes + head.len};
    if (!enter(&p, TAG_FIRST, at_end) || !step_over(&p) || !enter(&p, TAG_SECOND, at_end) ||
        !step_over(&p) || !enter(&p, TAG_SECOND, at_end)) {
        return false;
    }
    return p.at < p.end;
}

static int sniff(struct tc_codec_head head)
{
    if (head.bytes.len == 0 || !has_shape(head.bytes, head.at_end)) {
        return TC_SNIFF_NO;
    }
    return TC_SNIFF_LIKELY;
}

const struct tc_codec tc_codec_otlp_protobuf = {
    .name = "otlp_protobuf",
    .summary = "OpenTelemetry logs, metrics or traces as protobuf: one export request",
    .known_by = "the fields of an OTLP request, by their tags",
    .gives = "every kind: docs/otlp.md",
    .example = "(binary)",
    .ordered = false,
    .sniff = sniff,
    .decode = decode,
};
