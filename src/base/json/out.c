/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/out.h"

/* Bytes of a string that are escaped at a time, each to six at most. */
#define PIECE_BYTES 512
/* The longest value but strings: a double, a time or a digest, its quotes and what leads it. */
#define SCALAR_MAX 80

struct tc_json_out tc_json_out_make(struct tc_buf *b)
{
    return (struct tc_json_out){.b = b};
}

static bool grow_room(void *context, size_t bytes)
{
    return tc_grow_room(context, bytes);
}

struct tc_json_out tc_json_out_grow(struct tc_grow *g)
{
    return tc_json_out_sink(&g->buf, grow_room, g);
}

struct tc_json_out tc_json_out_sink(struct tc_buf *b, tc_json_room_fn make_room, void *context)
{
    return (struct tc_json_out){.b = b, .make_room = make_room, .context = context};
}

/* False, and the document is not whole, when there is none. */
static bool make_room(struct tc_json_out *j, size_t bytes)
{
    bool ok = j->make_room != NULL && j->make_room(j->context, bytes);
    j->b->overflowed |= !ok;
    return ok;
}

/* Asks the sink for room where it is short of it. A fixed buffer is left to the tc_buf functions,
 * which know what fits to the byte. */
static inline void reserve(struct tc_json_out *j, size_t bytes)
{
    if (__builtin_expect(bytes > j->b->cap - j->b->len, 0) && j->make_room != NULL) {
        (void)make_room(j, bytes);
    }
}

static inline struct tc_buf *begin_value(struct tc_json_out *j, size_t bytes)
{
    TC_ASSERT(j->lead == 0 || j->ends[j->depth] == ']');
    reserve(j, bytes + 1);
    if (j->lead != 0) {
        tc_buf_char(j->b, j->lead);
    }
    j->lead = ',';
    return j->b;
}

/* The same where `bytes` are free, and where a value is written without further checks; or NULL. */
static inline char *begin_short(struct tc_json_out *j, size_t bytes)
{
    struct tc_buf *b = j->b;
    TC_ASSERT(j->lead == 0 || j->ends[j->depth] == ']');
    if (__builtin_expect(bytes >= b->cap - b->len, 0)) {
        return NULL;
    }
    char *p = b->data + b->len;
    *p = j->lead;
    p += j->lead != 0;
    j->lead = ',';
    return p;
}

static void put_bytes(struct tc_json_out *j, struct tc_slice s)
{
    struct tc_buf *b = j->b;
    while (s.len > b->cap - b->len && j->make_room != NULL) {
        struct tc_slice head = tc_slice_head(s, b->cap - b->len);
        tc_buf_str(b, head);
        s = tc_slice_from(s, head.len);
        if (!make_room(j, s.len < PIECE_BYTES ? s.len : PIECE_BYTES)) {
            return;
        }
    }
    tc_buf_str(b, s);
}

bool tc_json_done(struct tc_json_out *j)
{
    TC_ASSERT(j->depth == 0 && j->lead == ',');
    return !j->b->overflowed;
}

bool tc_json_done_line(struct tc_json_out *j)
{
    TC_ASSERT(j->depth == 0 && j->lead == ',');
    reserve(j, 1);
    tc_buf_char(j->b, '\n');
    j->lead = 0;
    return !j->b->overflowed;
}

static inline void open_value(struct tc_json_out *j, char begin, char end)
{
    TC_ASSERT(j->depth < TC_JSON_OUT_DEPTH_MAX);
    (void)begin_value(j, 0);
    j->ends[++j->depth] = end;
    j->lead = begin;
}

static inline void close_value(struct tc_json_out *j, char end)
{
    TC_ASSERT(j->lead != 0 && j->ends[j->depth] == end);
    reserve(j, 2);
    if (j->lead != ',') {
        tc_buf_char(j->b, j->lead);
    }
    tc_buf_char(j->b, end);
    j->depth--;
    j->lead = ',';
}

void tc_json_add_object(struct tc_json_out *j)
{
    open_value(j, '{', '}');
}

void tc_json_end_object(struct tc_json_out *j)
{
    close_value(j, '}');
}

void tc_json_add_array(struct tc_json_out *j)
{
    open_value(j, '[', ']');
}

void tc_json_end_array(struct tc_json_out *j)
{
    close_value(j, ']');
}

/* The end of a piece of s: never between the bytes of one character. */
static size_t piece_of(struct tc_slice s)
{
    if (s.len <= PIECE_BYTES) {
        return s.len;
    }
    size_t len = PIECE_BYTES;
    while (len > PIECE_BYTES - 3 && ((unsigned char)s.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return len;
}

static void put_string(struct tc_json_out *j, struct tc_slice s)
{
    struct tc_buf *b = j->b;
    if (j->make_room == NULL || s.len <= (b->cap - b->len) / 8) {
        tc_buf_json(b, s);
        return;
    }
    reserve(j, 1);
    tc_buf_char(b, '"');
    while (s.len > 0) {
        size_t len = piece_of(s);
        reserve(j, 6 * len);
        tc_buf_escaped(b, tc_slice_head(s, len));
        s = tc_slice_from(s, len);
    }
    reserve(j, 1);
    tc_buf_char(b, '"');
}

static inline void begin_key(struct tc_json_out *j)
{
    TC_ASSERT(j->lead != 0 && j->ends[j->depth] == '}');
    reserve(j, 16);
    tc_buf_char(j->b, j->lead);
}

static inline void end_key(struct tc_json_out *j)
{
    reserve(j, 1);
    tc_buf_char(j->b, ':');
    j->lead = 0;
}

void tc_json_key_slowly(struct tc_json_out *j, struct tc_slice text)
{
    begin_key(j);
    put_bytes(j, tc_slice_from(text, 1));
    j->lead = 0;
}

void tc_json_key_str(struct tc_json_out *j, struct tc_slice key)
{
    begin_key(j);
    put_string(j, key);
    end_key(j);
}

void tc_json_add_str(struct tc_json_out *j, struct tc_slice s)
{
    (void)begin_value(j, 16);
    put_string(j, s);
}

static inline char *put_quoted(char *p, struct tc_slice s)
{
    *p++ = '"';
    p = tc_put_str(p, s);
    *p++ = '"';
    return p;
}

static __attribute__((noinline)) void put_plain_slowly(struct tc_json_out *j, struct tc_slice s)
{
    put_bytes(j, TC_LIT("\""));
    put_bytes(j, s);
    put_bytes(j, TC_LIT("\""));
}

void tc_json_add_plain(struct tc_json_out *j, struct tc_slice s)
{
    char *p = begin_short(j, s.len + 2);
    if (p == NULL) {
        (void)begin_value(j, 1);
        put_plain_slowly(j, s);
        return;
    }
    tc_buf_end(j->b, put_quoted(p, s));
}

void tc_json_key_plain(struct tc_json_out *j, struct tc_slice key)
{
    struct tc_buf *b = j->b;
    TC_ASSERT(j->lead != 0 && j->ends[j->depth] == '}');
    if (__builtin_expect(key.len + 4 > b->cap - b->len, 0)) {
        begin_key(j);
        put_plain_slowly(j, key);
        end_key(j);
        return;
    }
    char *p = b->data + b->len;
    *p++ = j->lead;
    p = put_quoted(p, key);
    *p++ = ':';
    tc_buf_end(b, p);
    j->lead = 0;
}

void tc_json_add_i64(struct tc_json_out *j, int64_t value)
{
    char *p = begin_short(j, TC_PUT_U64_MAX + 1);
    if (p == NULL) {
        tc_buf_i64(begin_value(j, SCALAR_MAX), value);
        return;
    }
    tc_buf_end(j->b, tc_put_i64(p, value));
}

void tc_json_add_u64(struct tc_json_out *j, uint64_t value)
{
    char *p = begin_short(j, TC_PUT_U64_MAX + 1);
    if (p == NULL) {
        tc_buf_u64(begin_value(j, SCALAR_MAX), value);
        return;
    }
    tc_buf_end(j->b, tc_put_u64(p, value));
}

void tc_json_add_i64_text(struct tc_json_out *j, int64_t value)
{
    struct tc_buf *b = begin_value(j, SCALAR_MAX);
    tc_buf_char(b, '"');
    tc_buf_i64(b, value);
    tc_buf_char(b, '"');
}

void tc_json_add_f64(struct tc_json_out *j, double value)
{
    tc_buf_f64(begin_value(j, SCALAR_MAX), value);
}

void tc_json_add_bool(struct tc_json_out *j, bool value)
{
    tc_buf_str(begin_value(j, SCALAR_MAX), value ? TC_LIT("true") : TC_LIT("false"));
}

void tc_json_add_null(struct tc_json_out *j)
{
    tc_buf_lit(begin_value(j, SCALAR_MAX), "null");
}

void tc_json_add_time(struct tc_json_out *j, int64_t ns)
{
    struct tc_buf *b = begin_value(j, SCALAR_MAX);
    tc_buf_char(b, '"');
    tc_buf_time(b, ns);
    tc_buf_char(b, '"');
}

void tc_json_add_time_cached(struct tc_json_out *j, int64_t ns, struct tc_time_cache *cache)
{
    struct tc_buf *b = begin_value(j, SCALAR_MAX);
    tc_buf_char(b, '"');
    tc_buf_time_cached(b, ns, cache);
    tc_buf_char(b, '"');
}

void tc_json_add_digest(struct tc_json_out *j, const struct tc_digest *d)
{
    struct tc_buf *b = begin_value(j, SCALAR_MAX);
    tc_buf_char(b, '"');
    tc_buf_digest(b, d);
    tc_buf_char(b, '"');
}

void tc_json_add_raw(struct tc_json_out *j, struct tc_slice json)
{
    if (json.len > 0) {
        (void)begin_value(j, 16);
        put_bytes(j, json);
    }
}

char *tc_json_begin_value(struct tc_json_out *j, size_t bytes)
{
    return tc_buf_begin(begin_value(j, bytes), bytes);
}
