/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/routes.h"

/* "{run}" */
static bool is_name(struct tc_slice part)
{
    return part.len > 2 && part.ptr[0] == '{' && part.ptr[part.len - 1] == '}';
}

bool tc_route_matches(struct tc_slice pattern, struct tc_slice path, struct tc_route *out)
{
    out->part_count = 0;
    while (pattern.len > 0 && path.len > 0) {
        struct tc_slice want = tc_slice_cut(pattern, '/', &pattern);
        struct tc_slice have = tc_slice_cut(path, '/', &path);
        if (!is_name(want)) {
            if (!tc_slice_eq(want, have)) {
                return false;
            }
            continue;
        }
        if (have.len == 0 || out->part_count == TC_ROUTE_PARTS_MAX) {
            return false;
        }
        out->parts[out->part_count++] = (struct tc_route_part){
            .name = tc_slice_make(want.ptr + 1, want.len - 2), .value = have};
    }
    return pattern.len == 0 && path.len == 0;
}

void tc_route_find(struct tc_slice path, enum tc_method method, struct tc_route *out)
{
    size_t count = 0;
    const struct tc_question *const *questions = tc_questions(&count);
    bool reads = method == TC_METHOD_GET || method == TC_METHOD_HEAD;
    bool ends_open = path.len > 0 && path.ptr[path.len - 1] == '/';
    *out = (struct tc_route){0};
    for (size_t i = 0; i < count && !ends_open; i++) {
        const struct tc_question *q = questions[i];
        struct tc_route found = {0};
        if (!tc_route_matches(tc_slice_cstr(q->path), path, &found)) {
            continue;
        }
        out->is_path = true;
        out->takes_get = out->takes_get || !q->posts;
        out->takes_post = out->takes_post || q->posts;
        bool fits = q->posts ? method == TC_METHOD_POST : reads;
        /* "/runs/compare" is itself before it is the run of that name. */
        if (fits && (out->question == NULL || found.part_count < out->part_count)) {
            out->question = q;
            out->part_count = found.part_count;
            for (size_t n = 0; n < found.part_count; n++) {
                out->parts[n] = found.parts[n];
            }
        }
    }
}

struct tc_slice tc_route_allow(const struct tc_route *route)
{
    return route->takes_get && route->takes_post ? TC_LIT("GET, HEAD, POST")
           : route->takes_post                   ? TC_LIT("POST")
                                                 : TC_LIT("GET, HEAD");
}
