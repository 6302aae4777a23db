/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as YAML; the first byte says by which schema. What is read must be JSON with each name
 * once, what is refused must say where.
 */
#include "base/assert.h"
#include "base/json.h"
#include "base/yaml/json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum tc_yaml_schema schema =
        size > 0 && data[0] % 2 == 1 ? TC_YAML_PYTHON_1_1 : TC_YAML_CORE_1_2;
    struct tc_slice text = size == 0 ? TC_EMPTY : tc_slice_make((const char *)data + 1, size - 1);
    struct tc_error err = {.message = ""};
    char *json = NULL;
    size_t len = 0;
    tc_status status = tc_yaml_to_json(text, schema, &json, &len, &err);
    if (status != TC_OK) {
        TC_ASSERT(json == NULL && strncmp(err.message, "line ", 5) == 0);
        return 0;
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    TC_ASSERT(parser != NULL && json[len] == '\0');
    TC_ASSERT(tc_json_parse(parser, tc_slice_make(json, len), &root, &err) == TC_OK);
    struct tc_json_iter it = tc_json_iter_make(root);
    struct tc_json value;
    struct tc_slice key;
    for (size_t i = 0; i < 64 && tc_json_iter_next(&it, &key, &value); i++) {
        struct tc_json first;
        /* tc_json_get finds the first one of that name. */
        TC_ASSERT(tc_json_type(root) != TC_JSON_OBJECT ||
                  (tc_json_get(root, key, &first) && first.at == value.at));
    }
    tc_json_parser_destroy(parser);
    free(json);
    return 0;
}
