/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any events go through all detectors, the incidents, the story and both renderings. The JSON of a
 * verdict is JSON in UTF-8, and nothing in the text moves a terminal's cursor.
 */
#include "base/assert.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "event_gen.h"
#include "story/story.h"
#include "verdict/render.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A reset costs more than most inputs: some go through one engine, one after the other in time. */
#define INPUTS_A_RESET 64
#define INPUT_NS (INT64_C(1000) * GEN_HOUR)
#define OUT_BYTES (TC_VERDICT_JSON_MAX * 16)

static struct tc_engine *engine;
static struct tc_story *story;
static struct tc_json_parser *parser;
static char *out_text;
static unsigned inputs;
static bool spoilt; /* event time has run away */

static tc_status take(void *context, const struct tc_verdict *v)
{
    (void)context;
    TC_ASSERT(v->finding->evidence_count > 0);
    TC_ASSERT(v->finding->evidence_count <= TC_VERDICT_EVIDENCE_MAX);
    TC_ASSERT(v->finding->attr_count <= TC_VERDICT_ATTRS_MAX);
    TC_ASSERT(v->finding->headline.len > 0 && v->finding->key.len > 0);
    return tc_story_add(story, v);
}

static void check_json(const struct tc_verdict *v)
{
    struct tc_buf b = tc_buf_make(out_text, OUT_BYTES);
    struct tc_json root;
    struct tc_error err;
    tc_verdict_render_json(&b, v, NULL);
    TC_ASSERT(!b.overflowed);
    TC_ASSERT(tc_json_parse(parser, tc_buf_slice(&b), &root, &err) == TC_OK);
    TC_ASSERT(memchr(out_text, '\n', b.len) == NULL);
}

static void check_text(const struct tc_verdict *const *verdicts, size_t roots, size_t count)
{
    struct tc_buf b = tc_buf_make(out_text, OUT_BYTES);
    struct tc_text_style style = {.columns = 80};
    struct tc_story_text told = {.verdicts = verdicts, .root_count = roots, .count = count};
    tc_verdict_render_story(&b, &told, NULL, &style);
    TC_ASSERT(!b.overflowed);
    for (size_t i = 0; i < b.len; i++) {
        unsigned char c = (unsigned char)out_text[i];
        TC_ASSERT((c >= 0x20 && c != 0x7f) || c == '\n');
        TC_ASSERT(c != 0xc2 || i + 1 == b.len || (unsigned char)out_text[i + 1] >= 0xa0);
    }
}

static void check_all(void)
{
    const struct tc_verdict *told[12];
    size_t count = 0;
    TC_ASSERT(tc_story_link(story, tc_engine_directory(engine), NULL) == TC_OK);
    const struct tc_incident_table *kept = tc_story_verdicts(story);
    for (size_t i = 0; i < kept->count; i++) {
        const struct tc_verdict *v = &kept->items[i].verdict;
        check_json(v);
        check_text(&v, 1, 1);
        if (count < 12) {
            told[count++] = v;
        }
    }
    if (count > 0) {
        check_text(told, count > 2 ? 2 : 1, count);
    }
}

static void feed(const struct tc_event *ev)
{
    TC_ASSERT(tc_engine_feed(engine, ev) == TC_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_engine_out out = {
        .verdict = take, .context = NULL, .statements = TC_STATEMENTS_FIRST};
    struct tc_error err;
    struct event_gen g = {.at = data, .left = size};
    struct tc_event ev;
    if (engine == NULL) {
        TC_ASSERT(tc_engine_create(&out, &engine, &err) == TC_OK);
        parser = tc_json_parser_create();
        out_text = malloc(OUT_BYTES);
        TC_ASSERT(parser != NULL && out_text != NULL);
    } else if (spoilt || inputs == INPUTS_A_RESET) {
        TC_ASSERT(tc_engine_reset(engine) == TC_OK);
        inputs = 0;
    }
    g.now_ns = GEN_EPOCH + inputs++ * INPUT_NS;
    story = tc_story_create();
    TC_ASSERT(story != NULL);
    while (gen_event(&g, &ev)) {
        unsigned again = gen_byte(&g) % GEN_REPEATS_MAX;
        int64_t step_ns = GEN_STEPS_NS[again == 0 ? 0 : gen_byte(&g) % 8];
        double rise = again == 0 ? 0 : gen_number(&g, gen_byte(&g));
        feed(&ev);
        for (unsigned i = 0; i < again; i++) {
            gen_again(&g, &ev, step_ns, rise);
            feed(&ev);
        }
    }
    TC_ASSERT(tc_engine_finish(engine, size % 3 == 0 ? TC_TIME_NONE : g.now_ns + GEN_HOUR) ==
              TC_OK);
    spoilt = g.wild || g.now_ns > GEN_EPOCH + inputs * INPUT_NS;
    check_all();
    tc_story_destroy(story);
    return 0;
}
