/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with the files of an import, and what is only odd. */
#include "run/import_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 1024
#define BLOCK_BYTES ((size_t)64 << 10)

struct tc__import_pool_block {
    struct tc__import_pool_block *next;
    size_t used;
    size_t size;
    char bytes[];
};

bool tc__import_pool_copy(struct tc__import_pool *p, struct tc_slice s, struct tc_slice *out)
{
    struct tc__import_pool_block *b = p->blocks;
    if (b == NULL || b->size - b->used < s.len) {
        size_t size = s.len > BLOCK_BYTES ? s.len : BLOCK_BYTES;
        b = size > TC__IMPORT_POOL_MAX - p->bytes ? NULL : malloc(sizeof *b + size);
        if (b == NULL) {
            return false;
        }
        *b = (struct tc__import_pool_block){.next = p->blocks, .size = size};
        p->blocks = b;
        p->bytes += size;
    }
    char *to = b->bytes + b->used;
    if (s.len > 0) {
        memcpy(to, s.ptr, s.len);
    }
    b->used += s.len;
    *out = tc_slice_make(to, s.len);
    return true;
}

void tc__import_pool_fini(struct tc__import_pool *p)
{
    while (p->blocks != NULL) {
        struct tc__import_pool_block *next = p->blocks->next;
        free(p->blocks);
        p->blocks = next;
    }
    p->bytes = 0;
}

static const char *path_of(const struct tc__import *i, size_t source)
{
    return source == TC__NOWHERE ? NULL : i->sources[source].file->path;
}

static void tell(const struct tc__import *i, bool error, size_t source, struct tc_slice where,
                 struct tc_slice field, struct tc_slice text)
{
    if (i->sink->problem != NULL) {
        i->sink->problem(i->sink->context, error, path_of(i, source), where, field, text);
    }
}

void tc__import_error(struct tc__import *i, size_t source, struct tc_slice where,
                      struct tc_slice field, struct tc_slice text)
{
    i->errors++;
    if (source != TC__NOWHERE) {
        i->sources[source].left_out = true;
    }
    tell(i, true, source, where, field, text);
}

tc_status tc__import_go_on(struct tc__import *i, size_t source, tc_status status,
                           const struct tc_error *own, struct tc_error *err)
{
    if (status == TC_E_NOMEM) {
        *err = *own;
        return status;
    }
    if (status != TC_OK) {
        i->unreadable |= status == TC_E_IO;
        tc__import_error(i, source, TC_EMPTY, TC_EMPTY, tc_slice_cstr(own->message));
    }
    return TC_OK;
}

tc_status tc__import_warn(struct tc__import *i, size_t source, struct tc_slice where,
                          struct tc_slice field, struct tc_slice text, struct tc_error *err)
{
    struct tc__warning warning = {.source = source};
    tell(i, false, source, where, field, text);
    if (i->warning_count >= TC__IMPORT_WARNINGS_MAX) {
        i->warnings_left_out++;
        return TC_OK;
    }
    if (tc_grow_items(i->warnings, i->warning_cap, i->warning_count + 1, TC__IMPORT_WARNINGS_MAX) !=
            TC_OK ||
        !tc__import_pool_copy(&i->pool, where, &warning.where) ||
        !tc__import_pool_copy(&i->pool, field, &warning.field) ||
        !tc__import_pool_copy(&i->pool, text, &warning.text)) {
        return tc__import_nomem(err);
    }
    i->warnings[i->warning_count++] = warning;
    return TC_OK;
}

static struct tc_slice format_into(char *room, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
static struct tc_slice format_into(char *room, size_t size, const char *format, va_list arguments)
{
    int len = vsnprintf(room, size, format, arguments);
    return tc_slice_make(room, len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1);
}

tc_status tc__import_warnf(struct tc__import *i, size_t source, struct tc_error *err,
                           const char *field, const char *format, ...)
{
    char room[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    struct tc_slice text = format_into(room, sizeof room, format, arguments);
    va_end(arguments);
    return tc__import_warn(i, source, TC_EMPTY, tc_slice_cstr(field), text, err);
}

void tc__import_tell(struct tc__import *i, size_t source, const char *format, ...)
{
    char room[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    struct tc_slice text = format_into(room, sizeof room, format, arguments);
    va_end(arguments);
    tell(i, false, source, TC_EMPTY, TC_EMPTY, text);
}

void tc__import_progress(struct tc__import *i, uint64_t bytes)
{
    i->bytes_done += bytes;
    if (i->sink->progress != NULL) {
        i->sink->progress(i->sink->context, i->bytes_done, i->bytes_total);
    }
}

void tc__import_warnings_json(const struct tc__import *i, struct tc_json_out *j)
{
    tc_json_add_array(j);
    for (size_t n = 0; n < i->warning_count; n++) {
        const struct tc__warning *w = &i->warnings[n];
        tc_json_add_object(j);
        tc_json_put_some(j, "field", w->field);
        if (w->source != TC__NOWHERE) {
            tc_json_put_some(j, "file", i->sources[w->source].name);
        }
        tc_json_put_some(j, "text", w->text);
        tc_json_put_some(j, "where", w->where);
        tc_json_end_object(j);
    }
    if (i->warnings_left_out > 0) {
        char text[64];
        (void)snprintf(text, sizeof text, "%llu more were not recorded",
                       (unsigned long long)i->warnings_left_out);
        tc_json_add_object(j);
        tc_json_put_cstr(j, "text", text);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}
