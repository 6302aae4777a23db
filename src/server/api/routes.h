/* SPDX-License-Identifier: Apache-2.0 */
/* Which question a path asks. Pure. */
#ifndef TC_SERVER_API_ROUTES_H
#define TC_SERVER_API_ROUTES_H

#include "answers/question.h"
#include "base/slice.h"
#include "net/request.h"

#include <stdbool.h>
#include <stddef.h>

/* Parts of a path that stand for a parameter. */
#define TC_ROUTE_PARTS_MAX 4

struct tc_route_part {
    struct tc_slice name;
    struct tc_slice value; /* in the path */
};

struct tc_route {
    const struct tc_question *question; /* NULL: no question has this path and method */
    bool is_path;                       /* one has the path at least ... */
    bool takes_get;                     /* ... with these methods */
    bool takes_post;
    struct tc_route_part parts[TC_ROUTE_PARTS_MAX];
    size_t part_count;
};

/* Borrows the path. */
void tc_route_find(struct tc_slice path, enum tc_method method, struct tc_route *out);
/* The value of Allow. */
struct tc_slice tc_route_allow(const struct tc_route *route);
/* "/api/v1/runs/{run}" and "/api/v1/runs/r1": whether they agree, and the parts. */
bool tc_route_matches(struct tc_slice pattern, struct tc_slice path, struct tc_route *out);

#endif
