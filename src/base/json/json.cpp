/* SPDX-License-Identifier: Apache-2.0 */
#define SIMDJSON_EXCEPTIONS 0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <simdjson.h>

/* Our C headers do not know C++: without this their functions would be looked for under mangled
 * names. What they include themselves is included above. */
extern "C" {
#include "base/json/json.h"
#include "base/limits.h"
}

namespace dom = simdjson::dom;

struct tc_json_parser {
    dom::parser parser{TC_JSON_DOCUMENT_MAX};
};

static_assert(sizeof(dom::element) == sizeof(struct tc_json), "element is a document and an index");

namespace
{

dom::element element_of(struct tc_json v)
{
    dom::element e;
    std::memcpy(static_cast<void *>(&e), &v, sizeof v);
    return e;
}

struct tc_json json_of(const dom::element &e)
{
    struct tc_json v;
    std::memcpy(&v, static_cast<const void *>(&e), sizeof v);
    return v;
}

template <typename Iterator> struct tc_json json_of_iterator(const Iterator &i)
{
    static_assert(sizeof(Iterator) == sizeof(struct tc_json), "an iterator is a place on the tape");
    struct tc_json v;
    std::memcpy(&v, static_cast<const void *>(&i), sizeof v);
    return v;
}

/* simdjson's iterators have no public default constructor: the bytes are put in place. */
template <typename Iterator> struct placed {
    alignas(Iterator) unsigned char bytes[sizeof(Iterator)];
    explicit placed(struct tc_json v)
    {
        std::memcpy(bytes, &v, sizeof v);
    }
    Iterator &get()
    {
        return *std::launder(reinterpret_cast<Iterator *>(bytes));
    }
};

} // namespace

struct tc_json_parser *tc_json_parser_create(void)
{
    struct tc_json_parser *p = new (std::nothrow) tc_json_parser;
    if (p != nullptr && p->parser.allocate(4096, TC_JSON_DEPTH_MAX) != simdjson::SUCCESS) {
        delete p;
        return nullptr;
    }
    return p;
}

void tc_json_parser_destroy(struct tc_json_parser *p)
{
    delete p;
}

tc_status tc_json_parse(struct tc_json_parser *p, struct tc_slice text, struct tc_json *out_root,
                        struct tc_error *err)
{
    if (text.len > TC_JSON_DOCUMENT_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "JSON document of %zu bytes; the limit is %zu", text.len,
                       TC_JSON_DOCUMENT_MAX);
    }
    /* The parser grows by itself but would forget the depth: keep both in step. */
    if (text.len > p->parser.capacity() &&
        p->parser.allocate(text.len, TC_JSON_DEPTH_MAX) != simdjson::SUCCESS) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to parse %zu bytes of JSON", text.len);
    }
    dom::element root;
    const char *bytes = text.len == 0 ? "" : text.ptr;
    simdjson::error_code code = p->parser.parse(bytes, text.len, true).get(root);
    if (code == simdjson::MEMALLOC) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to parse %zu bytes of JSON", text.len);
    }
    if (code == simdjson::DEPTH_ERROR) {
        return tc_fail(err, TC_E_LIMIT, 0, "JSON nested deeper than %d levels", TC_JSON_DEPTH_MAX);
    }
    if (code != simdjson::SUCCESS) {
        return tc_fail(err, TC_E_MALFORMED, 0, "not valid JSON: %s", simdjson::error_message(code));
    }
    *out_root = json_of(root);
    return TC_OK;
}

enum tc_json_type tc_json_type(struct tc_json v)
{
    switch (element_of(v).type()) {
    case dom::element_type::ARRAY:
        return TC_JSON_ARRAY;
    case dom::element_type::OBJECT:
        return TC_JSON_OBJECT;
    case dom::element_type::INT64:
        return TC_JSON_INT;
    case dom::element_type::UINT64:
        return TC_JSON_UINT;
    case dom::element_type::DOUBLE:
        return TC_JSON_DOUBLE;
    case dom::element_type::STRING:
        return TC_JSON_STRING;
    case dom::element_type::BOOL:
        return TC_JSON_BOOL;
    case dom::element_type::NULL_VALUE:
        return TC_JSON_NULL;
    }
    return TC_JSON_NULL;
}

bool tc_json_get(struct tc_json v, struct tc_slice key, struct tc_json *out)
{
    dom::object object;
    dom::element member;
    std::string_view name(key.len == 0 ? "" : key.ptr, key.len);
    if (element_of(v).get(object) != simdjson::SUCCESS ||
        object.at_key(name).get(member) != simdjson::SUCCESS) {
        return false;
    }
    *out = json_of(member);
    return true;
}

bool tc_json_string(struct tc_json v, struct tc_slice *out)
{
    std::string_view s;
    if (element_of(v).get(s) != simdjson::SUCCESS) {
        return false;
    }
    *out = tc_slice{s.data(), s.size()};
    return true;
}

bool tc_json_bool(struct tc_json v, bool *out)
{
    bool b = false;
    if (element_of(v).get(b) != simdjson::SUCCESS) {
        return false;
    }
    *out = b;
    return true;
}

bool tc_json_double(struct tc_json v, double *out)
{
    double d = 0;
    if (element_of(v).get(d) != simdjson::SUCCESS) {
        return false;
    }
    *out = d;
    return true;
}

bool tc_json_int(struct tc_json v, int64_t *out)
{
    int64_t i = 0;
    if (element_of(v).get(i) == simdjson::SUCCESS) {
        *out = i;
        return true;
    }
    tc_slice text;
    if (tc_json_string(v, &text)) {
        return tc_slice_is_i64(text, out);
    }
    double d = 0;
    if (tc_json_type(v) == TC_JSON_DOUBLE && tc_json_double(v, &d) && std::floor(d) == d &&
        std::fabs(d) < 9.2e18) {
        *out = static_cast<int64_t>(d);
        return true;
    }
    return false;
}

bool tc_json_uint(struct tc_json v, uint64_t *out)
{
    uint64_t u = 0;
    if (element_of(v).get(u) != simdjson::SUCCESS) {
        return false;
    }
    *out = u;
    return true;
}

struct tc_slice tc_json_get_string(struct tc_json v, struct tc_slice key)
{
    struct tc_json member;
    struct tc_slice s = {nullptr, 0};
    if (tc_json_get(v, key, &member)) {
        (void)tc_json_string(member, &s);
    }
    return s;
}

int64_t tc_json_get_int(struct tc_json v, struct tc_slice key, int64_t fallback)
{
    struct tc_json member;
    int64_t value = fallback;
    if (tc_json_get(v, key, &member)) {
        (void)tc_json_int(member, &value);
    }
    return value;
}

struct tc_json_iter tc_json_iter_make(struct tc_json v)
{
    dom::object object;
    dom::array array;
    if (element_of(v).get(object) == simdjson::SUCCESS) {
        return tc_json_iter{json_of_iterator(object.begin()), json_of_iterator(object.end()), true};
    }
    if (element_of(v).get(array) == simdjson::SUCCESS) {
        return tc_json_iter{json_of_iterator(array.begin()), json_of_iterator(array.end()), false};
    }
    return tc_json_iter{v, v, false};
}

bool tc_json_iter_next(struct tc_json_iter *it, struct tc_slice *out_key, struct tc_json *out)
{
    if (it->now.at >= it->end.at) {
        return false;
    }
    struct tc_slice key = {nullptr, 0};
    if (it->is_object) {
        placed<dom::object::iterator> place(it->now);
        std::string_view k = place.get().key();
        key = tc_slice{k.data(), k.size()};
        *out = json_of(place.get().value());
        ++place.get();
        it->now = json_of_iterator(place.get());
    } else {
        placed<dom::array::iterator> place(it->now);
        *out = json_of(*place.get());
        ++place.get();
        it->now = json_of_iterator(place.get());
    }
    if (out_key != nullptr) {
        *out_key = key;
    }
    return true;
}
