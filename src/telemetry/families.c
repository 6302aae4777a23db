/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which family a metric is of, what we call it and in which unit: families.def. Asked once for each
 * series, so the tables are walked.
 */
#include "telemetry/slices_priv.h"

#define TOTAL TC_LIT("_total")

#define NO_FAMILY(id, name)
#define NO_PREFIX(start, part, id, untyped)
#define NO_OURS(metric, id)
#define NO_METRIC(name, ours, factor, unit)
#define NO_UNIT(end, unit)

static const struct tc_slice NAMES[TC__FAMILY_COUNT] = {
#define FAMILY(id, name) [TC__FAMILY_##id] = {name, sizeof(name) - 1},
#define PREFIX NO_PREFIX
#define OURS NO_OURS
#define METRIC NO_METRIC
#define UNIT NO_UNIT
#include "telemetry/families.def"
#undef FAMILY
#undef PREFIX
};

enum untyped { BY_NAME, BY_GAUGE };

static const struct {
    struct tc_slice start;
    struct tc_slice part;
    uint8_t family;
    uint8_t untyped;
} PREFIXES[] = {
#define FAMILY NO_FAMILY
#define PREFIX(start, part, id, how) \
    {{start, sizeof(start) - 1}, {part, sizeof(part) - 1}, TC__FAMILY_##id, BY_##how},
#include "telemetry/families.def"
#undef PREFIX
#undef OURS
#define PREFIX NO_PREFIX
};

static const uint8_t OF_METRIC[TC_METRIC_COUNT] = {
#define OURS(metric, id) [TC_METRIC_##metric] = TC__FAMILY_##id,
#include "telemetry/families.def"
#undef OURS
#undef METRIC
#define OURS NO_OURS
};

static const struct {
    struct tc_slice name;
    struct tc_slice ours;
    struct tc_slice unit;
    double factor;
} METRICS[] = {
#define METRIC(name, ours, factor, unit) \
    {{name, sizeof(name) - 1}, {ours, sizeof(ours) - 1}, {unit, sizeof(unit) - 1}, (factor)},
#include "telemetry/families.def"
#undef METRIC
#undef UNIT
#define METRIC NO_METRIC
};

static const struct {
    struct tc_slice end;
    struct tc_slice unit;
} UNITS[] = {
#define UNIT(end, unit) {{end, sizeof(end) - 1}, {unit, sizeof(unit) - 1}},
#include "telemetry/families.def"
#undef FAMILY
#undef PREFIX
#undef OURS
#undef METRIC
#undef UNIT
};

struct tc_slice tc_plain_name(struct tc_slice name, bool cut_total, char *out)
{
    size_t len = name.len < TC_PLAIN_NAME_MAX ? name.len : TC_PLAIN_NAME_MAX;
    for (size_t i = 0; i < len; i++) {
        char c = name.ptr[i];
        bool upper = c >= 'A' && c <= 'Z';
        bool other = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        out[i] = upper ? (char)(c + ('a' - 'A')) : other ? c : '_';
    }
    struct tc_slice plain = tc_slice_make(out, len);
    while (cut_total && tc_slice_ends(plain, TOTAL)) {
        plain.len -= TOTAL.len;
    }
    return plain;
}

struct tc_slice tc__family_name(enum tc__family family)
{
    return NAMES[family];
}

/* Those that are not in the table are of the GPU: DCGM is the first family. */
enum tc__family tc__family_of_metric(enum tc_metric metric)
{
    return (enum tc__family)OF_METRIC[metric];
}

/* What counts up says so in its name. */
static bool counts_up(struct tc_slice plain)
{
    return tc_slice_ends(plain, TOTAL) || tc_slice_ends(plain, TC_LIT("_count")) ||
           tc_slice_ends(plain, TC_LIT("_sum")) || tc_slice_ends(plain, TC_LIT("_bucket"));
}

static void find_family(struct tc_slice plain, struct tc__naming *out)
{
    out->family = TC__FAMILY_OTHER;
    out->untyped = counts_up(plain) ? TC_SAMPLE_COUNTER : TC_SAMPLE_GAUGE;
    for (size_t i = 0; i < TC_COUNT(PREFIXES); i++) {
        if (tc_slice_starts(plain, PREFIXES[i].start) &&
            (PREFIXES[i].part.len == 0 || tc_slice_contains(plain, PREFIXES[i].part))) {
            out->family = (enum tc__family)PREFIXES[i].family;
            if (PREFIXES[i].untyped == BY_GAUGE) {
                out->untyped = TC_SAMPLE_GAUGE;
            }
            return;
        }
    }
}

/* A sum of seconds is in seconds; counts and buckets are numbers of things. */
static struct tc_slice unit_by_end(struct tc_slice plain)
{
    if (tc_slice_ends(plain, TC_LIT("_sum"))) {
        plain.len -= sizeof "_sum" - 1;
    }
    for (size_t i = 0; i < TC_COUNT(UNITS); i++) {
        if (tc_slice_ends(plain, UNITS[i].end)) {
            return UNITS[i].unit;
        }
    }
    return TC_EMPTY;
}

void tc__naming_of(struct tc_slice name, struct tc__naming *out)
{
    char text[TC_PLAIN_NAME_MAX];
    struct tc_slice plain = tc_plain_name(name, false, text);
    *out = (struct tc__naming){.factor = 1};
    find_family(plain, out);
    while (tc_slice_ends(plain, TOTAL)) {
        plain.len -= TOTAL.len;
    }
    for (size_t i = 0; i < TC_COUNT(METRICS); i++) {
        if (tc_slice_eq(plain, METRICS[i].name)) {
            out->ours = METRICS[i].ours;
            out->unit = METRICS[i].unit;
            out->is_rate = tc_slice_ends(out->unit, TC_LIT("/s"));
            out->factor = METRICS[i].factor;
            return;
        }
    }
    out->unit = unit_by_end(plain);
}

struct tc_slice tc__unit_spelled(struct tc_slice unit)
{
    /* UCUM's, of OTLP, and those of OpenMetrics. */
    static const struct {
        const char *theirs;
        const char *ours;
    } spellings[] = {
        {"seconds", "s"}, {"milliseconds", "ms"}, {"microseconds", "us"}, {"nanoseconds", "ns"},
        {"By", "bytes"},  {"KiBy", "KiB"},        {"MiBy", "MiB"},        {"GiBy", "GiB"},
        {"Cel", "C"},     {"celsius", "C"},       {"watts", "W"},         {"joules", "J"},
        {"volts", "V"},   {"hertz", "Hz"},        {"percent", "%"},
    };
    size_t i = tc_slice_row(unit, spellings, theirs);
    return i < TC_COUNT(spellings) ? tc_slice_cstr(spellings[i].ours) : unit;
}
