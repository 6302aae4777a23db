/* SPDX-License-Identifier: Apache-2.0 */
#include "telemetry/requests.h"

#include "base/buf.h"
#include "base/time.h"
#include "telemetry/slices_priv.h"

/* Of what failed, in the tool's words: an exception may come with all of its stack. */
#define ERROR_MAX 512
/* A byte as \xNN. */
#define ESCAPED_MAX ((size_t)4 * ERROR_MAX)
/* Texts of one row that had to be made. */
#define STRINGS_BYTES 8192
#define POINTER_MAX 64

bool tc_request_is_of_other_run(const struct tc_request_span *span,
                                const struct tc_request_source *source)
{
    return source->run_id.len > 0 && span->run_id.len > 0 &&
           !tc_slice_eq(source->run_id, span->run_id);
}

/* The beginning, not within a character of several bytes. */
static struct tc_slice cut(struct tc_slice s)
{
    struct tc_slice head = tc_slice_head(s, ERROR_MAX);
    while (head.len > 0 && head.len < s.len && ((unsigned char)s.ptr[head.len] & 0xc0) == 0x80) {
        head.len--;
    }
    return head;
}

/* On one line, and not long. `room` has ESCAPED_MAX bytes. */
static struct tc_slice error_text(struct tc_slice words, char *room)
{
    struct tc_buf b = tc_buf_make(room, ESCAPED_MAX);
    tc_buf_printable(&b, cut(words));
    return cut(tc_buf_slice(&b));
}

static void put_time(struct tc_rows *rows, size_t column, int64_t ns)
{
    if (ns != TC_TIME_NONE) {
        tc_rows_int(rows, column, ns / 1000);
    }
}

static void put_count(struct tc_rows *rows, size_t column, int64_t count)
{
    if (count >= 0) {
        tc_rows_int(rows, column, count);
    }
}

static void put_numbers(struct tc_rows *rows, const struct tc_request_span *s,
                        const struct tc_request_source *source)
{
    put_time(rows, TC_REQUEST_STARTED, s->started_ns);
    put_time(rows, TC_REQUEST_FIRST_TOKEN, s->first_token_ns);
    put_time(rows, TC_REQUEST_ENDED, s->ended_ns);
    tc_rows_real(rows, TC_REQUEST_QUEUE, s->queue_ms);
    tc_rows_real(rows, TC_REQUEST_TTFT, s->ttft_ms);
    tc_rows_real(rows, TC_REQUEST_TPOT, s->tpot_ms);
    tc_rows_real(rows, TC_REQUEST_E2E, s->e2e_ms);
    put_count(rows, TC_REQUEST_INPUT_TOKENS, s->input_tokens);
    put_count(rows, TC_REQUEST_OUTPUT_TOKENS, s->output_tokens);
    put_count(rows, TC_REQUEST_BATCH, source->batch);
}

static tc_status put_texts(struct tc_rows *rows, const struct tc_request_span *s,
                           const struct tc_request_source *source, struct tc_arena *strings)
{
    char error[ESCAPED_MAX];
    char pointer[POINTER_MAX];
    struct tc_buf at = tc_buf_make(pointer, sizeof pointer);
    tc_buf_lit(&at, "at:");
    tc_buf_u64(&at, s->offset);
    tc_buf_char(&at, ',');
    tc_buf_u64(&at, s->length);
    bool is_named = s->run_id.len > 0;
    const struct {
        size_t column;
        struct tc_slice text;
    } texts[] = {
        {TC_REQUEST_RUN_ID, tc__clean(is_named ? s->run_id : source->run_id, strings)},
        {TC_REQUEST_JOIN, is_named                 ? TC_LIT("identity")
                          : source->run_id.len > 0 ? TC_LIT("given")
                                                   : TC_EMPTY},
        {TC_REQUEST_REQUEST_ID, tc__clean(s->request_id, strings)},
        {TC_REQUEST_TRACE_ID, s->trace_id},
        {TC_REQUEST_STATUS, tc_slice_cstr(s->status)},
        {TC_REQUEST_ERROR, error_text(s->error, error)},
        {TC_REQUEST_JOB_UID, tc__clean(tc_slice_or(s->job_uid, source->job_uid), strings)},
        {TC_REQUEST_POD_UID, tc__clean(s->pod_uid, strings)},
        {TC_REQUEST_POD_NAME, tc__clean(s->pod_name, strings)},
        {TC_REQUEST_NODE, tc__clean(s->node_name, strings)},
        {TC_REQUEST_TOOL, tc_slice_cstr(s->tool)},
        {TC_REQUEST_SOURCE_DIGEST, source->digest},
        {TC_REQUEST_SOURCE_POINTER, tc_buf_slice(&at)},
    };
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        if (texts[i].text.len > 0) {
            TC_TRY(tc_rows_text(rows, texts[i].column, texts[i].text));
        }
    }
    return tc_arena_ok(strings) ? TC_OK : TC_E_NOMEM;
}

tc_status tc_request_row(struct tc_rows *rows, const struct tc_request_span *span,
                         const struct tc_request_source *source)
{
    char block[STRINGS_BYTES];
    struct tc_arena strings;
    if (rows->count == rows->count_max) {
        return TC_E_LIMIT;
    }
    if (!tc_rows_add(rows)) {
        return TC_E_NOMEM;
    }
    tc_arena_init(&strings, "texts of a request", block, sizeof block);
    put_numbers(rows, span, source);
    tc_status status = put_texts(rows, span, source, &strings);
    tc_arena_fini(&strings);
    /* A batch of rows has room for the texts of all of them. */
    return status == TC_OK ? TC_OK : TC_E_NOMEM;
}
