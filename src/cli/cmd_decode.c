/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/format.h"
#include "base/limits.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/reading.h"
#include "codec/attributes.h"
#include "codec/codec.h"
#include "codec/event_json/event_json.h"
#include "intake/stream.h"

#include <stdlib.h>
#include <unistd.h>

/* Bytes of what was not understood that are shown. */
#define QUOTE_MAX 200
/* One event as JSON: two lines of a log at most, each byte of which may need an escape. */
#define EVENT_MAX (TC_LINE_MAX * 16)

struct run {
    struct tc_reading reading; /* first: shared options go there */
    struct tc_stream_pool pool;
    struct tc_output out;
    struct tc_sources sources;
    char *data; /* EVENT_MAX bytes for one event */
    bool unknown;
    /* Lines are counted on from the last place that was reported. */
    const struct tc_input *counted;
    uint64_t counted_offset;
    uint64_t counted_line;
};

static void on_error(void *context, const struct tc_input *input, const struct tc_error *err)
{
    struct run *r = context;
    r->reading.failed = true;
    if (r->out.error == 0) { /* otherwise the input is fine, and the output says what is not */
        tc_reading_say_error(input, err);
    }
}

static uint64_t line_at(struct run *r, const struct tc_input *input, uint64_t offset)
{
    if (r->counted != input || offset < r->counted_offset) {
        r->counted = input;
        r->counted_offset = 0;
        r->counted_line = 1;
    }
    struct tc_input rest = {.bytes = tc_slice_from(input->bytes, (size_t)r->counted_offset)};
    r->counted_line += tc_input_line(&rest, (size_t)(offset - r->counted_offset)) - 1;
    r->counted_offset = offset;
    return r->counted_line;
}

static tc_status on_unknown(void *context, const struct tc_input *input, uint64_t offset,
                            size_t length, const char *why)
{
    struct run *r = context;
    struct tc_buf b = tc_buf_make(r->data, EVENT_MAX);
    struct tc_slice text = tc_slice_head(tc_slice_from(input->bytes, (size_t)offset), length);
    text = tc_slice_trim(text);
    tc_buf_printable(&b, tc_slice_cstr(input->path));
    if (tc_input_is_text(input)) {
        (void)tc_format(&b, ":{}", line_at(r, input, offset));
    } else {
        (void)tc_format(&b, ": at byte {}", offset);
    }
    (void)tc_format(&b, ": {}: {}{}", why, tc_as_printable(tc_slice_head(text, QUOTE_MAX)),
                    text.len > QUOTE_MAX ? "\xe2\x80\xa6\n" : "\n");
    return tc_output_put(&r->out, tc_buf_slice(&b)) ? TC_OK : TC_E_IO;
}

static tc_status put_event(struct run *r, const struct tc_event *ev, const struct tc_input *input)
{
    struct tc_buf b = tc_buf_make(r->data, EVENT_MAX);
    tc_event_json_write(&b, ev, &r->sources);
    tc_buf_char(&b, '\n');
    if (b.overflowed) {
        struct tc_error err = {.offset = (size_t)ev->raw.offset};
        (void)tc_fail(&err, TC_E_LIMIT, err.offset, "an event of more than %zu KiB is left out",
                      EVENT_MAX >> 10);
        on_error(r, input, &err);
        return TC_OK;
    }
    return tc_output_put(&r->out, tc_buf_slice(&b)) ? TC_OK : TC_E_IO;
}

static tc_status decode_input(struct run *r, size_t index)
{
    struct tc_input *input = &r->reading.inputs.items[index];
    struct tc_source_stream stream;
    const struct tc_event *ev = NULL;
    tc_source_stream_init(&stream, &r->pool, input, (uint32_t)index);
    tc_status status = tc_source_stream_next(&stream, &ev);
    while (status == TC_OK && ev != NULL) {
        status = r->unknown ? TC_OK : put_event(r, ev, input);
        if (status == TC_OK) {
            status = tc_source_stream_next(&stream, &ev);
        }
    }
    tc_source_stream_fini(&stream);
    return status;
}

static int decode_all(struct run *r)
{
    tc_stream_pool_init(&r->pool, r->reading.memory_bytes, 1);
    r->pool.utc_offset_s = r->reading.hints.utc_offset_s;
    r->pool.hints = &r->reading.hints;
    r->pool.error = on_error;
    r->pool.unknown = r->unknown ? on_unknown : NULL;
    r->pool.context = r;
    r->pool.file_order = true;
    r->sources = tc_inputs_sources(&r->reading.inputs);
    r->data = malloc(EVENT_MAX);
    tc_status status = r->data == NULL ? TC_E_NOMEM : TC_OK;
    for (size_t i = 0; i < r->reading.inputs.count && status == TC_OK; i++) {
        status = decode_input(r, i);
    }
    if (status == TC_E_NOMEM) {
        tc_say("decode", "out of memory");
    }
    tc_reading_end(&r->reading);
    bool bad = r->reading.failed || status != TC_OK;
    return tc_output_end(&r->out, "decode", bad ? TC_EXIT_BAD : TC_EXIT_OK);
}

/* Prints a page of the documentation that is made from the code. */
static int show_page(struct run *r, void (*write)(struct tc_buf *b), size_t size)
{
    r->data = malloc(size);
    if (r->data == NULL) {
        return tc_refuse("decode", "out of memory");
    }
    struct tc_buf page = tc_buf_make(r->data, size);
    write(&page);
    (void)tc_output_put(&r->out, tc_buf_slice(&page));
    return tc_output_end(&r->out, "decode", page.overflowed ? TC_EXIT_BAD : TC_EXIT_OK);
}

static int show_attributes(void *args, const struct tc_option *option, const char *value)
{
    (void)option;
    (void)value;
    return show_page(args, tc_attributes_write, TC_ATTRIBUTES_MAX);
}

static int show_formats(void *args, const struct tc_option *option, const char *value)
{
    (void)option;
    (void)value;
    return show_page(args, tc_codec_write_table, TC_CODEC_TABLE_MAX);
}

static const struct tc_option OPTIONS[] = {
    TC_TAKEN(
        "attributes", NULL, show_attributes,
        "Print which attributes, labels and metrics are read, and as what: docs/ATTRIBUTES.md."),
    TC_TAKEN("formats", NULL, show_formats,
             "Print which formats are read, how each is recognised and what it gives: "
             "docs/formats.md."),
    TC_FLAG("unknown", struct run, unknown,
            "List what was not understood instead of the events: PATH:LINE: why: the text."),
    TC_TAKEN("node", "NAME=FILE", tc_reading_take_node, TC_READING_NODE_HELP),
};

static int run_command(struct run *r, int argc, char **argv)
{
    int code = tc_options_read(&tc_command_decode, argc, argv, r);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind == argc && r->reading.map_path == NULL) {
        tc_say("decode", "nothing to read; give files or directories, or - for standard input");
        return tc_command_misused(&tc_command_decode);
    }
    if (tc_reading_open(&r->reading, argv + optind, (size_t)(argc - optind)) != TC_OK) {
        return TC_EXIT_BAD;
    }
    return decode_all(r);
}

static int run(int argc, char **argv)
{
    struct run r = {0};
    tc_output_init(&r.out, STDOUT_FILENO);
    tc_output_escape_on_terminal(&r.out, TC_ESCAPE_JSON);
    if (tc_reading_init(&r.reading, "decode", argc) != TC_OK) {
        return TC_EXIT_BAD;
    }
    int code = run_command(&r, argc, argv);
    tc_stream_pool_fini(&r.pool);
    free(r.data);
    tc_reading_fini(&r.reading);
    return code;
}

const struct tc_command tc_command_decode = {
    .name = "decode",
    .summary = "print what a file says, as events",
    .usage = "usage: tracecore decode [OPTIONS] PATH...\n"
             "\n"
             "Prints every event of the files as a line of JSON, in the order of the file,\n"
             "with the place of the bytes it was read from: {\"digest\", \"offset\", \"length\"}.\n"
             "What it prints can be read again by decode and detect. All formats that detect\n"
             "reads are read.\n"
             "\n"
             "PATH is a file, a directory (read with all below it, but for hidden files) or -\n"
             "for standard input.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .shared = tc_reading_options,
    .shared_count = TC_READING_OPTION_COUNT,
    .notes = "Exit status:\n"
             "  0  everything was read\n"
             "  2  wrong usage, nothing was read, or some input could not be read; the rest is\n"
             "     printed all the same\n"
             "\n"
             "Examples:\n"
             "  tracecore decode dmesg-gpu-07.txt | jq -c 'select(.kind == \"xid\")'\n"
             "  tracecore decode --unknown /var/log/kern.log\n"
             "  tracecore decode --scrape-interval 30s scrapes | jq -r .metric\n"
             "  tracecore decode --format rank_map hostfile\n",
    .run = run,
};
