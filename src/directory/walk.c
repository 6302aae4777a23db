/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known, one after the other: for those who show it. */
#include "directory/directory_priv.h"

bool tc__table_is_current(const struct tc__table *t, const void *entry)
{
    for (uint32_t name = 0; name < t->kind->name_count; name++) {
        if (t->kind->hash(entry, name) != 0 && tc__table_find(t, entry, name) == entry) {
            return true;
        }
    }
    return false;
}

bool tc_directory_makes_room(const struct tc_directory *d)
{
    return d->tidy.table != NULL;
}

void tc_directory_each_node(const struct tc_directory *d,
                            void (*take)(void *context, const struct tc_node *node), void *context)
{
    tc__nodes_each(&d->nodes, take, context);
}

void tc_directory_each_gpu(const struct tc_directory *d,
                           void (*take)(void *context, const struct tc_gpu *gpu), void *context)
{
    const struct tc__table *t = &d->gpus.table;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct tc_gpu *gpu = tc__table_at(t, i);
        if (tc__table_is_current(t, gpu)) {
            take(context, gpu);
        }
    }
}

/* One that was replaced says the same as the one in its place, with an earlier end. */
void tc_directory_each_statement(const struct tc_directory *d,
                                 void (*take)(void *context, const struct tc_statement *said),
                                 void *context)
{
    const struct tc__table *t = &d->statements.table;
    for (uint32_t i = 0; i < t->count; i++) {
        take(context, tc__table_at(t, i));
    }
}
