/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pickles read as data. An allow-list of opcodes runs on an explicit stack; an
 * opcode that is not on it is refused by name, never skipped. Nothing is called,
 * nothing is looked up, there is no recursion. See docs/decisions/0003.
 *
 * The same machine runs twice over the bytes of a container: once over the whole
 * file to check it and to fill the memo, later over one container's range to give
 * its items. That the second run finds what the first did rests on three rules,
 * checked in the first: a memo id is given once, a container that was referred to
 * does not change any more, and a reference cannot be written through. Picklers
 * break them only for objects that contain themselves.
 */
#include "codec/flight_recorder/priv.h"

#include "base/assert.h"
#include "base/limits.h"

/* PyTorch and Python leave all items of a list on the stack until it is closed:
 * room for the records of the largest dump, and for a dict of as many pairs. */
#define STACK_MAX ((size_t)2 * TC_FR_ENTRIES_MAX)

#define POOL_SHIFT 8
#define POOL_FIRST ((size_t)1 << POOL_SHIFT)

_Static_assert((POOL_FIRST << TC__FR_POOL_CHUNKS) - POOL_FIRST >= TC_PICKLE_MEMO_MAX &&
                   (POOL_FIRST << TC__FR_POOL_CHUNKS) - POOL_FIRST >= STACK_MAX,
               "a pool holds the largest memo and the highest stack");
_Static_assert(TC_PICKLE_DEPTH_MAX < UINT8_MAX, "a depth fits its field");

/*
 * One run. Invariants: height counts the values on doc->stack; mark is 1 + the
 * index of the topmost MARK, 0 when there is none, so values at index >= mark are
 * free to be taken; collected <= target->count.
 */
struct machine {
    struct tc__fr_doc *doc;
    size_t at;
    size_t end;
    size_t height;
    size_t mark;
    const struct tc__fr_value *target; /* whose items are wanted; NULL in the first run */
    struct tc__fr_value *items;
    size_t collected;
    bool stopped;
};

struct opcode {
    const char *name;
    tc_status (*run)(struct machine *m, uint8_t op, size_t start); /* NULL: refused */
};

/* The place of a value in a pool, or NULL when scratch is full. */
static inline struct tc__fr_value *slot(struct tc__fr_doc *doc, struct tc__fr_pool *pool,
                                        size_t index)
{
    if (index < POOL_FIRST && pool->chunks[0] != NULL) {
        return &pool->chunks[0][index];
    }
    size_t place = index + POOL_FIRST;
    size_t chunk = 63U - (size_t)__builtin_clzll(place) - POOL_SHIFT;
    TC_ASSERT(chunk < TC__FR_POOL_CHUNKS);
    size_t size = POOL_FIRST << chunk;
    if (pool->chunks[chunk] == NULL) {
        pool->chunks[chunk] = tc_new(doc->scratch, struct tc__fr_value, size);
    }
    return pool->chunks[chunk] == NULL ? NULL : &pool->chunks[chunk][place - size];
}

/* A value that is on the stack. */
static struct tc__fr_value *peek(struct machine *m, size_t index)
{
    TC_ASSERT(index < m->height);
    return slot(m->doc, &m->doc->stack, index);
}

static tc_status push(struct machine *m, struct tc__fr_value v)
{
    if (m->height >= STACK_MAX) {
        return tc_fail(m->doc->err, TC_E_LIMIT, v.start,
                       "more than %zu values wait in open lists at byte %u", STACK_MAX, v.start);
    }
    struct tc__fr_value *top = slot(m->doc, &m->doc->stack, m->height);
    if (top == NULL) {
        return tc__fr_scratch_full(m->doc, v.start);
    }
    *top = v;
    m->height++;
    return TC_OK;
}

static tc_status underflow(struct machine *m, size_t start)
{
    return tc_fail(m->doc->err, TC_E_MALFORMED, start,
                   "pickle opcode 0x%02x at byte %zu finds nothing to work on",
                   (unsigned)(uint8_t)m->doc->bytes.ptr[start], start);
}

static tc_status torn(struct machine *m, size_t start)
{
    return tc_fail(m->doc->err, TC_E_MALFORMED, m->end,
                   "the dump is cut off: it ends at byte %zu, inside the value at byte %zu", m->end,
                   start);
}

/* The little-endian argument of 1 to 8 bytes behind an opcode. */
static tc_status argument(struct machine *m, size_t start, size_t size, uint64_t *out)
{
    if (size > m->end - m->at) {
        return torn(m, start);
    }
    if (size == 1) {
        *out = (uint8_t)m->doc->bytes.ptr[m->at++];
        return TC_OK;
    }
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--) {
        value = value << 8 | (uint8_t)m->doc->bytes.ptr[m->at + i - 1];
    }
    m->at += size;
    *out = value;
    return TC_OK;
}

static tc_status push_int(struct machine *m, size_t start, int64_t value)
{
    return push(
        m, (struct tc__fr_value){.integer = value, .start = (uint32_t)start, .type = TC__FR_INT});
}

static tc_status run_proto(struct machine *m, uint8_t op, size_t start)
{
    (void)op;
    uint64_t version = 0;
    TC_TRY(argument(m, start, 1, &version));
    if (start != 0 || version < 2 || version > 5) {
        return tc_fail(m->doc->err, TC_E_MALFORMED, start,
                       "pickle protocol %u at byte %zu; 2 to 5 at the start of the file are read",
                       (unsigned)version, start);
    }
    return TC_OK;
}

/* Frames only help readers that buffer; their content is read like any other. One may begin
 * inside a container and end behind it, so its length is held against the whole file. */
static tc_status run_frame(struct machine *m, uint8_t op, size_t start)
{
    (void)op;
    uint64_t length = 0;
    TC_TRY(argument(m, start, 8, &length));
    return length > m->doc->bytes.len - m->at ? torn(m, start) : TC_OK;
}

static tc_status run_stop(struct machine *m, uint8_t op, size_t start)
{
    (void)op;
    if (m->height != 1 || m->mark != 0) {
        return tc_fail(m->doc->err, TC_E_MALFORMED, start,
                       "the pickle stops at byte %zu with %zu values left, not one", start,
                       m->height);
    }
    m->stopped = true;
    return TC_OK;
}

static tc_status run_mark(struct machine *m, uint8_t op, size_t start)
{
    (void)op;
    TC_TRY(push(m, (struct tc__fr_value){.integer = (int64_t)m->mark,
                                         .start = (uint32_t)start,
                                         .type = TC__FR_MARK}));
    m->mark = m->height;
    return TC_OK;
}

static tc_status run_none(struct machine *m, uint8_t op, size_t start)
{
    (void)op;
    return push(m, (struct tc__fr_value){.start = (uint32_t)start, .type = TC__FR_NONE});
}

static tc_status run_bool(struct machine *m, uint8_t op, size_t start)
{
    return push(m, (struct tc__fr_value){
                       .integer = op == 0x88, .start = (uint32_t)start, .type = TC__FR_BOOL});
}

static tc_status run_int(struct machine *m, uint8_t op, size_t start)
{
    uint64_t value = 0;
    size_t size = op == 'K' ? 1 : op == 'M' ? 2 : 4;
    TC_TRY(argument(m, start, size, &value));
    /* Only the four-byte form has a sign. */
    return push_int(m, start, op == 'J' ? (int32_t)(uint32_t)value : (int64_t)value);
}

/* LONG1 and LONG4: a length, then that many bytes of two's complement. */
static tc_status run_long(struct machine *m, uint8_t op, size_t start)
{
    uint64_t size = 0;
    uint64_t value = 0;
    TC_TRY(argument(m, start, op == 0x8a ? 1 : 4, &size));
    if (size > 8) {
        return tc_fail(m->doc->err, TC_E_MALFORMED, start,
                       "integer of %u bytes at byte %zu; 8 are read, and a dump has no longer one",
                       (unsigned)size, start);
    }
    TC_TRY(argument(m, start, (size_t)size, &value));
    if (size > 0 && size < 8 && (value >> (size * 8 - 1)) != 0) {
        value |= UINT64_MAX << (size * 8);
    }
    return push_int(m, start, (int64_t)value);
}

static tc_status run_float(struct machine *m, uint8_t op, size_t start)
{
    (void)op;
    uint64_t bits = 0;
    TC_TRY(argument(m, start, 8, &bits));
    return push(m, (struct tc__fr_value){.start = (uint32_t)start, .type = TC__FR_NUMBER});
}

/* Strings and bytes: a length, then the bytes, which stay where they are. */
static tc_status run_text(struct machine *m, uint8_t op, size_t start)
{
    bool is_short = op == 0x8c || op == 'C';
    bool is_bytes = op == 'B' || op == 'C';
    uint64_t length = 0;
    TC_TRY(argument(m, start, is_short ? 1 : op == 0x8d ? 8 : 4, &length));
    if (length > m->end - m->at) {
        return torn(m, start);
    }
    struct tc__fr_value v = {.start = (uint32_t)start,
                             .type = is_bytes ? TC__FR_BYTES : TC__FR_STRING};
    v.at = (uint32_t)m->at;
    m->at += (size_t)length;
    v.end = (uint32_t)m->at;
    return push(m, v);
}

static tc_status run_empty(struct machine *m, uint8_t op, size_t start)
{
    enum tc__fr_type type = op == '}' ? TC__FR_DICT : op == ']' ? TC__FR_LIST : TC__FR_TUPLE;
    struct tc__fr_value v = {.start = (uint32_t)start, .type = (uint8_t)type, .depth = 1};
    v.at = (uint32_t)start;
    v.end = (uint32_t)m->at;
    return push(m, v);
}

/* Remembers the top of the stack under an id. Picklers count ids from 0, so an id beyond
 * the bytes read so far is a trap for readers that make room for it. */
static tc_status run_put(struct machine *m, uint8_t op, size_t start)
{
    struct tc__fr_doc *doc = m->doc;
    uint64_t id = doc->memo_count;
    if (op != 0x94) {
        TC_TRY(argument(m, start, op == 'q' ? 1 : 4, &id));
    }
    if (m->target != NULL) {
        return TC_OK;
    }
    if (m->height <= m->mark) {
        return underflow(m, start);
    }
    if (id >= TC_PICKLE_MEMO_MAX || id > start) {
        return tc_fail(doc->err, TC_E_LIMIT, start, "memo id %u at byte %zu is too large",
                       (unsigned)id, start);
    }
    struct tc__fr_value *kept = slot(doc, &doc->memo, (size_t)id);
    if (kept == NULL) {
        return tc__fr_scratch_full(doc, start);
    }
    struct tc__fr_value *top = peek(m, m->height - 1);
    if (kept->type != TC__FR_UNSET || top->memo != 0) {
        return tc_fail(doc->err, TC_E_MALFORMED, start,
                       "memo id %u at byte %zu is given twice, or to an object that has one",
                       (unsigned)id, start);
    }
    *kept = *top;
    kept->shared = false;
    if (!top->shared && (top->type == TC__FR_LIST || top->type == TC__FR_DICT)) {
        top->memo = (uint32_t)id + 1;
    }
    doc->memo_count++;
    return TC_OK;
}

static tc_status run_get(struct machine *m, uint8_t op, size_t start)
{
    struct tc__fr_doc *doc = m->doc;
    uint64_t id = 0;
    TC_TRY(argument(m, start, op == 'h' ? 1 : 4, &id));
    struct tc__fr_value *kept = NULL;
    if (id < TC_PICKLE_MEMO_MAX && id <= start) {
        kept = slot(doc, &doc->memo, (size_t)id);
        if (kept == NULL) {
            return tc__fr_scratch_full(doc, start);
        }
    }
    if (kept == NULL || kept->type == TC__FR_UNSET) {
        return tc_fail(doc->err, TC_E_MALFORMED, start,
                       "memo id %u at byte %zu was not given before", (unsigned)id, start);
    }
    kept->shared = true;
    struct tc__fr_value v = *kept;
    v.start = (uint32_t)start;
    v.memo = 0;
    return push(m, v);
}

/* Depth of a container around the items from index `first` up. */
static tc_status nest(struct machine *m, size_t first, size_t start, uint8_t *io_depth)
{
    uint8_t deepest = *io_depth;
    for (size_t i = first; i < m->height; i++) {
        uint8_t depth = (uint8_t)(peek(m, i)->depth + 1);
        deepest = depth > deepest ? depth : deepest;
    }
    if (deepest > TC_PICKLE_DEPTH_MAX) {
        return tc_fail(m->doc->err, TC_E_LIMIT, start,
                       "pickle nested deeper than %d levels at byte %zu", TC_PICKLE_DEPTH_MAX,
                       start);
    }
    *io_depth = deepest;
    return TC_OK;
}

static void collect(struct machine *m, size_t first)
{
    for (size_t i = first; i < m->height; i++) {
        TC_ASSERT(m->collected < m->target->count);
        m->items[m->collected++] = *peek(m, i);
    }
}

/* Drops the topmost MARK's bookkeeping; the caller lowers the stack. */
static void unmark(struct machine *m)
{
    m->mark = (size_t)peek(m, m->mark - 1)->integer;
}

/* Puts the items from index `first` up into the list or dict at index `under`. */
static tc_status extend(struct machine *m, size_t under, size_t first, enum tc__fr_type type,
                        size_t start)
{
    struct tc__fr_doc *doc = m->doc;
    struct tc__fr_value *v = peek(m, under);
    size_t count = m->height - first;
    if (v->type != type || v->shared || (type == TC__FR_DICT && count % 2 != 0)) {
        return tc_fail(doc->err, TC_E_MALFORMED, start,
                       "pickle opcode 0x%02x at byte %zu does not fit what it would change",
                       (unsigned)(uint8_t)doc->bytes.ptr[start], start);
    }
    v->end = (uint32_t)m->at;
    v->count += (uint32_t)count;
    if (m->target != NULL) {
        if (under == 0 && m->target->type == type) {
            collect(m, first);
        }
        return TC_OK;
    }
    TC_TRY(nest(m, first, start, &v->depth));
    if (v->memo != 0) {
        struct tc__fr_value *kept = slot(doc, &doc->memo, v->memo - 1);
        if (kept->shared) {
            return tc_fail(doc->err, TC_E_MALFORMED, start,
                           "the object at byte %u changes at byte %zu after it was referred to",
                           v->at, start);
        }
        kept->end = v->end;
        kept->count = v->count;
        kept->depth = v->depth;
    }
    return TC_OK;
}

/* APPEND and SETITEM: one item, or a key and its value, without a MARK. */
static tc_status run_add_one(struct machine *m, uint8_t op, size_t start)
{
    size_t count = op == 'a' ? 1 : 2;
    if (m->height - m->mark < count + 1) {
        return underflow(m, start);
    }
    size_t first = m->height - count;
    TC_TRY(extend(m, first - 1, first, op == 'a' ? TC__FR_LIST : TC__FR_DICT, start));
    m->height = first;
    return TC_OK;
}

/* APPENDS and SETITEMS: everything above the MARK. */
static tc_status run_add_all(struct machine *m, uint8_t op, size_t start)
{
    if (m->mark < 2) {
        return underflow(m, start);
    }
    size_t first = m->mark;
    TC_TRY(extend(m, first - 2, first, op == 'e' ? TC__FR_LIST : TC__FR_DICT, start));
    unmark(m);
    m->height = first - 1;
    return TC_OK;
}

static tc_status run_tuple(struct machine *m, uint8_t op, size_t start)
{
    bool marked = op == 't';
    size_t first = m->mark;
    if (marked && m->mark == 0) {
        return underflow(m, start);
    }
    if (!marked) {
        size_t count = (size_t)op - 0x84; /* TUPLE1 is 0x85 */
        if (m->height - m->mark < count) {
            return underflow(m, start);
        }
        first = m->height - count;
    }
    struct tc__fr_value v = {.type = TC__FR_TUPLE, .depth = 1};
    size_t bottom = marked ? first - 1 : first;
    v.start = peek(m, bottom)->start;
    v.at = v.start;
    v.end = (uint32_t)m->at;
    v.count = (uint32_t)(m->height - first);
    TC_TRY(nest(m, first, start, &v.depth));
    /* An inner tuple may start at the same byte; only the wanted one ends the range. */
    if (m->target != NULL && m->target->type == TC__FR_TUPLE && m->at == m->end) {
        collect(m, first);
    }
    if (marked) {
        unmark(m);
    }
    m->height = bottom;
    return push(m, v);
}

/* Everything that has a name in pickle's protocols 0 to 5; what cannot run is refused. */
static const struct opcode OPCODES[256] = {
    ['('] = {"MARK", run_mark},
    [')'] = {"EMPTY_TUPLE", run_empty},
    ['.'] = {"STOP", run_stop},
    ['0'] = {"POP", NULL},
    ['1'] = {"POP_MARK", NULL},
    ['2'] = {"DUP", NULL},
    ['B'] = {"BINBYTES", run_text},
    ['C'] = {"SHORT_BINBYTES", run_text},
    ['F'] = {"FLOAT", NULL},
    ['G'] = {"BINFLOAT", run_float},
    ['I'] = {"INT", NULL},
    ['J'] = {"BININT", run_int},
    ['K'] = {"BININT1", run_int},
    ['L'] = {"LONG", NULL},
    ['M'] = {"BININT2", run_int},
    ['N'] = {"NONE", run_none},
    ['P'] = {"PERSID", NULL},
    ['Q'] = {"BINPERSID", NULL},
    ['R'] = {"REDUCE", NULL},
    ['S'] = {"STRING", NULL},
    ['T'] = {"BINSTRING", NULL},
    ['U'] = {"SHORT_BINSTRING", NULL},
    ['V'] = {"UNICODE", NULL},
    ['X'] = {"BINUNICODE", run_text},
    [']'] = {"EMPTY_LIST", run_empty},
    ['a'] = {"APPEND", run_add_one},
    ['b'] = {"BUILD", NULL},
    ['c'] = {"GLOBAL", NULL},
    ['d'] = {"DICT", NULL},
    ['e'] = {"APPENDS", run_add_all},
    ['g'] = {"GET", NULL},
    ['h'] = {"BINGET", run_get},
    ['i'] = {"INST", NULL},
    ['j'] = {"LONG_BINGET", run_get},
    ['l'] = {"LIST", NULL},
    ['o'] = {"OBJ", NULL},
    ['p'] = {"PUT", NULL},
    ['q'] = {"BINPUT", run_put},
    ['r'] = {"LONG_BINPUT", run_put},
    ['s'] = {"SETITEM", run_add_one},
    ['t'] = {"TUPLE", run_tuple},
    ['u'] = {"SETITEMS", run_add_all},
    ['}'] = {"EMPTY_DICT", run_empty},
    [0x80] = {"PROTO", run_proto},
    [0x81] = {"NEWOBJ", NULL},
    [0x82] = {"EXT1", NULL},
    [0x83] = {"EXT2", NULL},
    [0x84] = {"EXT4", NULL},
    [0x85] = {"TUPLE1", run_tuple},
    [0x86] = {"TUPLE2", run_tuple},
    [0x87] = {"TUPLE3", run_tuple},
    [0x88] = {"NEWTRUE", run_bool},
    [0x89] = {"NEWFALSE", run_bool},
    [0x8a] = {"LONG1", run_long},
    [0x8b] = {"LONG4", run_long},
    [0x8c] = {"SHORT_BINUNICODE", run_text},
    [0x8d] = {"BINUNICODE8", run_text},
    [0x8e] = {"BINBYTES8", NULL},
    [0x8f] = {"EMPTY_SET", NULL},
    [0x90] = {"ADDITEMS", NULL},
    [0x91] = {"FROZENSET", NULL},
    [0x92] = {"NEWOBJ_EX", NULL},
    [0x93] = {"STACK_GLOBAL", NULL},
    [0x94] = {"MEMOIZE", run_put},
    [0x95] = {"FRAME", run_frame},
    [0x96] = {"BYTEARRAY8", NULL},
    [0x97] = {"NEXT_BUFFER", NULL},
    [0x98] = {"READONLY_BUFFER", NULL},
};

static tc_status step(struct machine *m)
{
    size_t start = m->at++;
    uint8_t op = (uint8_t)m->doc->bytes.ptr[start];
    const struct opcode *opcode = &OPCODES[op];
    if (opcode->run != NULL) {
        return opcode->run(m, op, start);
    }
    return tc_fail(m->doc->err, TC_E_MALFORMED, start,
                   "pickle opcode %s (0x%02x) at byte %zu is refused: a Flight Recorder dump is "
                   "plain data",
                   opcode->name == NULL ? "without a name" : opcode->name, (unsigned)op, start);
}

tc_status tc__fr_pickle_open(struct tc__fr_doc *doc, struct tc__fr_value *out_root)
{
    if (doc->bytes.len > UINT32_MAX) {
        return tc_fail(doc->err, TC_E_LIMIT, 0, "dump of %zu bytes; the limit is %u",
                       doc->bytes.len, UINT32_MAX);
    }
    struct machine m = {.doc = doc, .end = doc->bytes.len};
    while (!m.stopped) {
        if (m.at >= m.end) {
            return tc_fail(doc->err, TC_E_MALFORMED, m.at,
                           "the dump is cut off: it ends at byte %zu without a STOP", m.at);
        }
        TC_TRY(step(&m));
    }
    if (m.at != m.end) {
        return tc_fail(doc->err, TC_E_MALFORMED, m.at,
                       "%zu bytes follow the end of the pickle at byte %zu", m.end - m.at, m.at);
    }
    *out_root = *peek(&m, 0);
    return TC_OK;
}

void tc__fr_pickle_items(struct tc__fr_doc *doc, const struct tc__fr_value *v,
                         struct tc__fr_value *items)
{
    if (v->count == 0) {
        return;
    }
    struct machine m = {.doc = doc, .at = v->at, .end = v->end, .target = v, .items = items};
    while (m.at < m.end) {
        tc_status status = step(&m);
        TC_ASSERT(status == TC_OK);
    }
    TC_ASSERT(m.collected == v->count);
}
