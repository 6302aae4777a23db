/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cutter takes any bytes and stays inside them; where the parser proper
 * finds a document, both see the same members and elements.
 */
#include "base/assert.h"
#include "base/json/json.h"
#include "base/json/raw.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool inside(struct tc_slice whole, struct tc_slice part)
{
    return part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len;
}

/* Walks the text as an array or an object; the number of items. */
static size_t walk(struct tc_slice text, bool object)
{
    struct tc_slice key = TC_EMPTY;
    struct tc_slice value;
    size_t count = 0;
    size_t last = 0;
    for (size_t at = 0; object ? tc_json_raw_member(text, &at, &key, &value)
                               : tc_json_raw_element(text, &at, &value);) {
        TC_ASSERT(at > last && at <= text.len && value.len > 0 && inside(text, value));
        TC_ASSERT(!object || inside(text, key));
        last = at;
        count++;
    }
    return count;
}

static size_t count_items(struct tc_json root)
{
    struct tc_json_iter it = tc_json_iter_make(root);
    struct tc_json v;
    size_t count = 0;
    while (tc_json_iter_next(&it, NULL, &v)) {
        count++;
    }
    return count;
}

/* Every element, parsed alone, is what the whole document has at its place. */
static void compare_elements(struct tc_slice text, struct tc_json root)
{
    struct tc_json_parser *part = tc_json_parser_create();
    struct tc_json_iter it = tc_json_iter_make(root);
    struct tc_json want;
    struct tc_json got;
    struct tc_slice value;
    size_t at = 0;
    TC_ASSERT(part != NULL);
    while (tc_json_iter_next(&it, NULL, &want)) {
        TC_ASSERT(tc_json_raw_element(text, &at, &value));
        TC_ASSERT(tc_json_parse(part, value, &got, NULL) == TC_OK);
        TC_ASSERT(tc_json_type(got) == tc_json_type(want));
    }
    tc_json_parser_destroy(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_slice text = tc_slice_make((const char *)data, size);
    struct tc_slice value;
    struct tc_json root;
    size_t at = 0;
    bool cut = tc_json_raw_value(text, &at, &value);
    TC_ASSERT(!cut || (inside(text, value) && at <= size));
    size_t elements = walk(text, false);
    size_t members = walk(text, true);
    (void)tc_json_raw_get(text, TC_LIT("kind"), &value);

    struct tc_json_parser *parser = tc_json_parser_create();
    TC_ASSERT(parser != NULL);
    if (tc_json_parse(parser, text, &root, NULL) == TC_OK) {
        TC_ASSERT(cut);
        if (tc_json_type(root) == TC_JSON_ARRAY) {
            TC_ASSERT(elements == count_items(root) && members == 0);
            compare_elements(text, root);
        } else if (tc_json_type(root) == TC_JSON_OBJECT) {
            TC_ASSERT(members == count_items(root) && elements == 0);
        }
    }
    tc_json_parser_destroy(parser);
    return 0;
}
