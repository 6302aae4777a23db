/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml/events.h"

#include "base/buf.h"

#include <libfyaml.h>

#define SAY(problem, words) memcpy((problem)->text, "" words, sizeof(words))

/* "4:2: error: what" at the start of a line of libfyaml's: cuts the place off it. */
static struct tc_slice cut_place(struct tc_slice line, struct tc_yaml_place *out)
{
    uint64_t row = 0;
    uint64_t column = 0;
    size_t used = tc_slice_u64(line, &row);
    struct tc_slice rest = tc_slice_from(line, used + 1);
    size_t used_too = used == 0 ? 0 : tc_slice_u64(rest, &column);
    if (used_too == 0 || row > UINT32_MAX || column > UINT32_MAX) {
        return line;
    }
    *out = (struct tc_yaml_place){(unsigned)row, (unsigned)column};
    return tc_slice_trim(tc_slice_from(rest, used_too + 1));
}

/* libfyaml explains itself in several pieces; the first is the sentence, the rest a drawing. */
static void on_problem(struct fy_diag *diag, void *user, const char *bytes, size_t len)
{
    (void)diag;
    struct tc_yaml_problem *problem = user;
    struct tc_slice rest;
    struct tc_slice line = tc_slice_cut(tc_slice_make(bytes, len), '\n', &rest);
    if (problem->text[0] != '\0') {
        return;
    }
    /* "<memory-@0x...-0x...>:4:2: error: what": the address is noise. */
    size_t at = tc_slice_find(line, TC_LIT(">:"));
    line = cut_place(tc_slice_from(line, at == TC_NPOS ? 0 : at + 2), &problem->at);
    if (tc_slice_starts(line, TC_LIT("error:"))) {
        line = tc_slice_trim(tc_slice_from(line, sizeof "error:" - 1));
    }
    struct tc_buf b = tc_buf_make(problem->text, sizeof problem->text - 1);
    tc_buf_printable(&b, tc_slice_head(line, sizeof problem->text / 4 - 1));
    problem->text[b.len] = '\0';
}

static tc_status no_memory(struct tc_yaml_problem *problem)
{
    SAY(problem, "no memory for a parser");
    return TC_E_NOMEM;
}

static struct tc_slice token_text(struct fy_token *token)
{
    size_t len = 0;
    const char *bytes = token == NULL ? NULL : fy_token_get_text(token, &len);
    return tc_slice_make(bytes, bytes == NULL ? 0 : len);
}

static void set_properties(struct tc_yaml_event *e, struct fy_token *tag, struct fy_token *anchor)
{
    e->has_tag = tag != NULL;
    e->tag = token_text(tag);
    e->has_anchor = anchor != NULL;
    e->anchor = token_text(anchor);
}

static void set_scalar(struct tc_yaml_event *e, struct fy_token *token)
{
    enum fy_scalar_style style = token == NULL ? FYSS_PLAIN : fy_token_scalar_style(token);
    e->type = TC_YAML_SCALAR;
    e->style = style == FYSS_PLAIN     ? TC_YAML_PLAIN
               : style == FYSS_LITERAL ? TC_YAML_LITERAL
               : style == FYSS_FOLDED  ? TC_YAML_FOLDED
                                       : TC_YAML_QUOTED;
    e->text = token_text(token);
}

/* False for an event that says nothing. */
static bool translate(struct fy_event *event, struct tc_yaml_event *e)
{
    *e = (struct tc_yaml_event){.start = TC_NPOS, .end = TC_NPOS};
    switch (event->type) {
    case FYET_DOCUMENT_START:
        e->type = TC_YAML_DOCUMENT_START;
        break;
    case FYET_DOCUMENT_END:
        e->type = TC_YAML_DOCUMENT_END;
        break;
    case FYET_MAPPING_START:
        e->type = TC_YAML_OPEN;
        e->is_mapping = true;
        set_properties(e, event->mapping_start.tag, event->mapping_start.anchor);
        break;
    case FYET_SEQUENCE_START:
        e->type = TC_YAML_OPEN;
        set_properties(e, event->sequence_start.tag, event->sequence_start.anchor);
        break;
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        e->type = TC_YAML_CLOSE;
        break;
    case FYET_SCALAR:
        set_scalar(e, event->scalar.value);
        set_properties(e, event->scalar.tag, event->scalar.anchor);
        break;
    case FYET_ALIAS:
        e->type = TC_YAML_ALIAS;
        e->text = token_text(event->alias.anchor);
        break;
    case FYET_NONE:
    case FYET_STREAM_START:
    case FYET_STREAM_END:
        return false;
    }
    const struct fy_mark *start = fy_event_start_mark(event);
    const struct fy_mark *end = fy_event_end_mark(event);
    if (start != NULL && end != NULL) {
        e->at = (struct tc_yaml_place){(unsigned)start->line + 1, (unsigned)start->column + 1};
        e->start = start->input_pos;
        e->end = end->input_pos;
    }
    return true;
}

static tc_status hand_over(struct fy_parser *parser, struct tc_slice text,
                           tc_yaml_event_fn on_event, void *context,
                           struct tc_yaml_problem *problem)
{
    struct fy_event *event = NULL;
    tc_status status = TC_OK;
    if (fy_parser_set_string(parser, text.ptr, text.len) != 0) {
        return no_memory(problem);
    }
    while (status == TC_OK && (event = fy_parser_parse(parser)) != NULL) {
        struct tc_yaml_event e;
        status = translate(event, &e) ? on_event(context, &e) : TC_OK;
        fy_parser_event_free(parser, event);
    }
    if (status == TC_OK && fy_parser_get_stream_error(parser)) {
        if (problem->text[0] == '\0') {
            SAY(problem, "it ends where nothing can");
        }
        return TC_E_MALFORMED;
    }
    problem->text[0] = '\0';
    return status;
}

tc_status tc_yaml_events(struct tc_slice text, tc_yaml_event_fn on_event, void *context,
                         struct tc_yaml_problem *out_problem)
{
    out_problem->at = (struct tc_yaml_place){0, 0};
    out_problem->text[0] = '\0';
    if (text.len == 0) {
        return TC_OK;
    }
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    diag_cfg.fp = NULL;
    diag_cfg.output_fn = on_problem;
    diag_cfg.user = out_problem;
    diag_cfg.colorize = false;
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    struct fy_parse_cfg cfg = {.flags = FYPCF_JSON_NONE | FYPCF_DISABLE_MMAP_OPT, .diag = diag};
    struct fy_parser *parser = diag == NULL ? NULL : fy_parser_create(&cfg);
    tc_status status = parser == NULL ? no_memory(out_problem)
                                      : hand_over(parser, text, on_event, context, out_problem);
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return status;
}

struct tc_yaml_place tc_yaml_place_of(struct tc_slice text, size_t offset)
{
    struct tc_yaml_place at = {1, 1};
    for (size_t i = 0; i < offset && i < text.len; i++) {
        if (text.ptr[i] == '\n') {
            at = (struct tc_yaml_place){at.line + 1, 1};
        } else {
            at.column += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
        }
    }
    return at;
}
