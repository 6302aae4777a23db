/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's notes about evictions, in the wordings of its releases
 * (pkg/kubelet/eviction/helpers.go): what ran short, who used it and how much.
 */
#include "detect/finding_priv.h"
#include "detect/pod_evicted/priv.h"

#define TEXT(s)            \
    {                      \
        (s), sizeof(s) - 1 \
    }

struct word {
    struct tc_slice text;
    enum evict_pressure pressure;
};

/* In order: the first that occurs decides. */
static const struct word WORDS[] = {
    {TEXT("memory"), EVICT_MEMORY},
    {TEXT("ephemeral-storage"), EVICT_EPHEMERAL},
    {TEXT("ephemeral storage"), EVICT_EPHEMERAL},
    {TEXT("ephemeral local storage"), EVICT_EPHEMERAL},
    {TEXT("disk"), EVICT_DISK},
    {TEXT("inode"), EVICT_DISK},
    {TEXT("nodefs"), EVICT_DISK},
    {TEXT("imagefs"), EVICT_DISK},
    {TEXT("containerfs"), EVICT_DISK},
    {TEXT("emptydir"), EVICT_DISK},
};

static const struct tc_slice PIDS[] = {TEXT("pid"), TEXT("pids"), TEXT("pidpressure")};

static const struct tc_slice LIMITS[] = {
    TEXT("exceeded its local ephemeral storage limit"),
    TEXT("ephemeral local storage usage exceeds"),
    TEXT("usage of emptydir volume"),
};

static const struct tc_slice PLANNED[] = {
    TEXT("eviction api"),
    TEXT("preempt"),
    TEXT("taint manager"),
};

static bool contains(struct tc_slice s, struct tc_slice word)
{
    return tc_slice_find_nocase(s, word) != TC_NPOS;
}

static bool contains_any(struct tc_slice s, const struct tc_slice *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (contains(s, words[i])) {
            return true;
        }
    }
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "pid" is part of too many words to look for it anywhere: it must be one. */
static bool names_pids(struct tc_slice s)
{
    size_t start = 0;
    for (size_t i = 0; i <= s.len; i++) {
        if (i < s.len && is_letter(s.ptr[i])) {
            continue;
        }
        struct tc_slice word = tc_slice_head(tc_slice_from(s, start), i - start);
        for (size_t k = 0; k < TC_COUNT(PIDS) && word.len > 0; k++) {
            if (tc_slice_eq_nocase(word, PIDS[k])) {
                return true;
            }
        }
        start = i + 1;
    }
    return false;
}

enum evict_pressure tc__evict_resource(struct tc_slice text)
{
    for (size_t i = 0; i < TC_COUNT(WORDS); i++) {
        if (contains(text, WORDS[i].text)) {
            return WORDS[i].pressure;
        }
    }
    return names_pids(text) ? EVICT_PID : EVICT_UNKNOWN;
}

enum evict_condition tc__evict_condition(enum evict_pressure pressure)
{
    switch (pressure) {
    case EVICT_MEMORY:
        return EVICT_MEMORY_PRESSURE;
    case EVICT_DISK:
    case EVICT_EPHEMERAL:
    case EVICT_LIMIT:
        return EVICT_DISK_PRESSURE;
    case EVICT_PID:
        return EVICT_PID_PRESSURE;
    case EVICT_UNKNOWN:
        break;
    }
    return EVICT_NONE;
}

enum evict_pressure tc__evict_pressure(enum evict_condition condition)
{
    switch (condition) {
    case EVICT_MEMORY_PRESSURE:
        return EVICT_MEMORY;
    case EVICT_DISK_PRESSURE:
        return EVICT_DISK;
    case EVICT_PID_PRESSURE:
        return EVICT_PID;
    case EVICT_NONE:
        break;
    }
    return EVICT_UNKNOWN;
}

/* What follows a marker, in the kubelet's own spelling, or "". */
static struct tc_slice after(struct tc_slice note, struct tc_slice marker)
{
    size_t at = tc_slice_find(note, marker);
    return at == TC_NPOS ? TC_EMPTY : tc_slice_trim(tc_slice_from(note, at + marker.len));
}

static bool is_around_word(char c)
{
    return c == ',' || c == '.' || c == '"' || c == '[' || c == ']';
}

/* The first word, without quotes, brackets and punctuation around it. */
static struct tc_slice first_word(struct tc_slice s)
{
    struct tc_slice rest;
    struct tc_slice word = tc_slice_cut(s, ' ', &rest);
    while (word.len > 0 && is_around_word(word.ptr[0])) {
        word = tc_slice_from(word, 1);
    }
    while (word.len > 0 && is_around_word(word.ptr[word.len - 1])) {
        word = tc_slice_head(word, word.len - 1);
    }
    return tc__text_clip(word, EVICT_WORD_MAX);
}

static struct tc_slice value_after(struct tc_slice note, struct tc_slice marker)
{
    return first_word(after(note, marker));
}

static struct tc_slice either(struct tc_slice a, struct tc_slice b)
{
    return a.len > 0 ? a : b;
}

/* The resource a note names in its place, which counts more than words anywhere in it. */
static struct tc_slice named_resource(struct tc_slice note)
{
    static const struct tc_slice markers[] = {TEXT("low on resource:"), TEXT("had condition:")};
    for (size_t i = 0; i < TC_COUNT(markers); i++) {
        struct tc_slice named = value_after(note, markers[i]);
        if (named.len > 0) {
            return named;
        }
    }
    /* Not as the kubelet writes it; perhaps someone passed it on in other letters. */
    for (size_t i = 0; i < TC_COUNT(markers); i++) {
        size_t at = tc_slice_find_nocase(note, markers[i]);
        if (at != TC_NPOS) {
            return first_word(tc_slice_trim(tc_slice_from(note, at + markers[i].len)));
        }
    }
    return TC_EMPTY;
}

static unsigned condition_bit(enum evict_pressure pressure)
{
    enum evict_condition condition = tc__evict_condition(pressure);
    return condition == EVICT_NONE ? 0 : 1U << condition;
}

/* Every condition of "had condition: [DiskPressure MemoryPressure]": a list goes on to its bracket,
 * and without one as long as there are commas. */
static unsigned conditions_of(struct tc_slice note)
{
    static const struct tc_slice marker = TEXT("had condition:");
    size_t at = tc_slice_find_nocase(note, marker);
    if (at == TC_NPOS) {
        return 0;
    }
    struct tc_slice rest = tc_slice_trim(tc_slice_from(note, at + marker.len));
    bool bracket = tc_slice_starts(rest, TC_LIT("["));
    unsigned conditions = 0;
    for (bool more = true; more && rest.len > 0;) {
        struct tc_slice word = tc_slice_cut(rest, ' ', &rest);
        conditions |= condition_bit(tc__evict_resource(word));
        more = bracket ? !tc_slice_contains(word, TC_LIT("]")) : tc_slice_ends(word, TC_LIT(","));
    }
    return conditions;
}

static enum evict_pressure pressure_of(struct tc_slice note)
{
    struct tc_slice named = named_resource(note);
    if (named.len > 0) {
        return tc__evict_resource(named);
    }
    if (contains_any(note, LIMITS, TC_COUNT(LIMITS))) {
        return EVICT_LIMIT;
    }
    return tc__evict_resource(note);
}

struct evict_note tc__evict_note(struct tc_slice message)
{
    struct tc_slice note = tc_slice_head(message, EVICT_NOTE_MAX);
    struct evict_note out = {.pressure = pressure_of(note)};
    out.conditions = condition_bit(out.pressure) | conditions_of(note);
    if (out.pressure == EVICT_UNKNOWN) {
        out.planned = contains_any(note, PLANNED, TC_COUNT(PLANNED));
        return out;
    }
    if (out.pressure == EVICT_LIMIT) {
        out.limit = either(value_after(note, TC_LIT("storage limit ")),
                           either(value_after(note, TC_LIT("exceeds the limit ")),
                                  value_after(note, TC_LIT("limit of containers "))));
    }
    struct tc_slice who = after(note, TC_LIT("Container "));
    if (tc_slice_contains(who, TC_LIT(" was using ")) ||
        tc_slice_contains(who, TC_LIT(" exceeded its "))) {
        out.container = first_word(who);
        out.usage = value_after(who, TC_LIT(" was using "));
        out.request = either(value_after(who, TC_LIT("request is ")),
                             value_after(who, TC_LIT("its request of ")));
    }
    out.threshold = value_after(note, TC_LIT("Threshold quantity: "));
    out.available = value_after(note, TC_LIT("available: "));
    return out;
}
