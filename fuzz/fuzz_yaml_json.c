/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as YAML; the first byte says by which schema. What is read must be JSON with each name
 * once, what is refused must say where.
 */
#include "base/assert.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/yaml/json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tc_yaml_options python = {
        .schema = TC_YAML_PYTHON_1_1,
        .places = TC_YAML_AT_SIGN,
        .depth_max = TC_JSON_DEPTH_MAX,
        .values_max = 1 << 16,
        .keys_max = 1024,
        .anchors_max = 64,
        .json_max = 1 << 20,
        .json_alias_max = SIZE_MAX,
    };
    struct tc_slice text = size == 0 ? TC_EMPTY : tc_slice_make((const char *)data + 1, size - 1);
    struct tc_error err = {.message = ""};
    char *json = NULL;
    size_t len = 0;
    tc_status status = TC_OK;
    if (size > 0 && data[0] % 2 == 1) {
        struct tc_yaml_tree tree;
        struct tc_yaml_failure failure;
        status = tc_yaml_tree_read(text, &python, &tree, &failure);
        TC_ASSERT(status == TC_OK || failure.problem.text[0] != '\0');
        if (status == TC_OK && tree.root != NULL) {
            status = tc_yaml_json(tree.root, &python, &json, &len, &err);
            TC_ASSERT(status == TC_OK || strncmp(err.message, "line ", 5) == 0);
        }
        tc_yaml_tree_fini(&tree);
    } else {
        status = tc_yaml_to_json(text, &json, &len, &err);
        TC_ASSERT(status == TC_OK || strncmp(err.message, "line ", 5) == 0);
    }
    if (json == NULL) {
        return 0;
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    TC_ASSERT(parser != NULL && json[len] == '\0');
    TC_ASSERT(tc_json_parse(parser, tc_slice_make(json, len), &root, &err) == TC_OK);
    struct tc_json_iter it = tc_json_iter_make(root);
    struct tc_json value;
    struct tc_slice key;
    /* By Python 1 and "1" are two keys, and one name. */
    bool is_once = data[0] % 2 == 0 && tc_json_type(root) == TC_JSON_OBJECT;
    for (size_t i = 0; is_once && i < 64 && tc_json_iter_next(&it, &key, &value); i++) {
        struct tc_json first;
        /* tc_json_get finds the first one of that name. */
        TC_ASSERT(tc_json_get(root, key, &first) && first.at == value.at);
    }
    tc_json_parser_destroy(parser);
    free(json);
    return 0;
}
