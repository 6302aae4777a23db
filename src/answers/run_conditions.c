/* SPDX-License-Identifier: Apache-2.0 */
/* What publishing asks of a run. The evidence is looked at again. */
#include "answers/run.h"
#include "evidence/files/files.h"

#include <stdio.h>

/* Bytes of one run's evidence that are read again; larger files are left to `evidence verify`. */
#define READ_MAX ((int64_t)64 << 20)

/* Files of the run that are missing or damaged, the first one by name. */
struct looked {
    size_t bad;
    size_t left; /* too large to be read again */
    char name[64];
};

static void look_at(struct tc_files *files, struct tc_slice name, struct tc_slice text,
                    struct looked *l)
{
    struct tc_digest digest;
    struct tc_error err;
    uint64_t size = 0;
    if (!tc_digest_parse(text, &digest) || tc_files_check(files, &digest, &size, &err) != TC_OK) {
        if (l->bad++ == 0) {
            (void)snprintf(l->name, sizeof l->name, "%.*s", (int)(name.len < 60 ? name.len : 60),
                           name.ptr);
        }
    }
}

static void look_at_all(struct tc_files *files, struct tc_slice uris, struct looked *l)
{
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct tc_json file;
    struct tc_error err;
    int64_t left = READ_MAX;
    if (parser != NULL && tc_json_parse(parser, uris, &root, &err) == TC_OK) {
        struct tc_json_iter it = tc_json_iter_make(root);
        while (tc_json_iter_next(&it, NULL, &file)) {
            int64_t size = tc_json_get_int(file, TC_LIT("size"), 0);
            if (size > left) {
                l->left++;
                continue;
            }
            left -= size;
            look_at(files, tc_json_get_string(file, TC_LIT("name")),
                    tc_json_get_string(file, TC_LIT("digest")), l);
        }
    }
    tc_json_parser_destroy(parser);
}

/* The manifest and the files that it names, as they are now. */
static struct tc_condition manifest(const char *data_dir, const struct tc_answer *lineage,
                                    char room[TC_CONDITION_ROOM])
{
    struct tc_files *files = NULL;
    struct tc_error err;
    struct looked l = {0};
    struct tc_condition c = {.name = TC_LIT("manifest"), .state = TC_CONDITION_NOT_CHECKABLE};
    if (lineage->row_count == 0 || tc_files_open(data_dir, false, &files, &err) != TC_OK) {
        c.why = TC_LIT("the evidence cannot be read here");
        return c;
    }
    look_at(files, TC_LIT("the manifest"), tc_answer_text(lineage, 0, TC_LINEAGE_MANIFEST_DIGEST),
            &l);
    look_at_all(files, tc_answer_text(lineage, 0, TC_LINEAGE_RAW_URIS), &l);
    tc_files_close(files);
    int len = l.bad > 0
                  ? snprintf(room, TC_CONDITION_ROOM, "%zu of its files missing or damaged: %s%s",
                             l.bad, l.name, l.bad > 1 ? " first" : "")
              : l.left > 0 ? snprintf(room, TC_CONDITION_ROOM,
                                      "as stored; %zu large files were not read again (tracecore "
                                      "evidence verify does)",
                                      l.left)
                           : snprintf(room, TC_CONDITION_ROOM, "every file is as it was stored");
    c.state = l.bad > 0 ? TC_CONDITION_NOT_MET : TC_CONDITION_MET;
    c.why = tc_slice_make(room, len < 0 ? 0 : (size_t)len);
    return c;
}

bool tc_conditions_now_read(const char *data_dir, const struct tc_run_shown *s,
                            struct tc_conditions_now *out)
{
    *out = (struct tc_conditions_now){.parser = tc_json_parser_create()};
    if (out->parser != NULL) {
        out->count = tc_conditions_read(
            out->parser, tc_answer_text(&s->parts[TC_PART_RUN], 0, TC_RUN_CONDITIONS), out->items);
    }
    if (out->count == 0) { /* of a version that did not record them */
        out->items[out->count++] = (struct tc_condition){
            .name = TC_LIT("all"),
            .state = TC_CONDITION_NOT_CHECKABLE,
            .why = TC_LIT("added by an older version; tracecore rebuild finds them")};
    }
    for (size_t n = 0; n < out->count; n++) {
        if (tc_slice_eq(out->items[n].name, TC_LIT("manifest"))) {
            out->items[n] = manifest(data_dir, &s->parts[TC_PART_LINEAGE], out->room);
        }
    }
    out->are_met = tc_conditions_met(out->items, out->count);
    return out->parser != NULL;
}

void tc_conditions_now_fini(struct tc_conditions_now *c)
{
    tc_json_parser_destroy(c->parser);
    c->parser = NULL;
}
