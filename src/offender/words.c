/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a thing that fails again and again: it is to be returned, not reset once more. */
#include "event/format.h"
#include "offender/offender_priv.h"

#define DAY_NS (86400 * TC_SECOND)
/* All but what the finding and its scope say. */
#define WORDS_MAX 512
#define CITATION_MAX 80
#define ID_SHOWN 8

/* "third", "12th" */
static void write_ordinal(struct tc_buf *b, const struct tc_arg *arg)
{
    static const char *const words[] = {"zeroth", "first",   "second", "third", "fourth", "fifth",
                                        "sixth",  "seventh", "eighth", "ninth", "tenth"};
    int64_t n = arg->integer;
    if (n < (int64_t)TC_COUNT(words)) {
        tc_format(b, "{}", words[n]);
        return;
    }
    bool teen = n / 10 % 10 == 1;
    const char *end = teen          ? "th"
                      : n % 10 == 1 ? "st"
                      : n % 10 == 2 ? "nd"
                      : n % 10 == 3 ? "rd"
                                    : "th";
    tc_format(b, "{}{}", n, end);
}

static struct tc_arg ordinal(int64_t n)
{
    return (struct tc_arg){.write = write_ordinal, .integer = n};
}

static struct tc_arg window(int64_t ns)
{
    return ns % DAY_NS == 0 ? tc_as_count(ns / DAY_NS, "day") : tc_as_duration(ns);
}

/* "074b35e5 (hbm_ecc) of 2026-03-04T05:06:41Z, ..." */
static void write_citations(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_recurrence *r = arg->object;
    for (size_t i = 0; i < r->earlier_count; i++) {
        const struct tc_recurrence_item *e = &r->earlier[i];
        int64_t second_ns = e->first_ns - e->first_ns % TC_SECOND;
        tc_format(b, "{}{} ({}) of {}", i == 0 ? "" : ", ", tc_slice_head(e->incident_id, ID_SHOWN),
                  e->pattern_name, tc_as_time(second_ns));
    }
}

static struct tc_slice text_attr(const struct tc_finding *f, struct tc_slice suffix)
{
    const struct tc_attr *a = tc_finding_attr(f, TC_ATTR_STRING, suffix);
    return a == NULL ? TC_EMPTY : a->string;
}

/* A port, a switch or another device, by its name or its address. */
static void write_device(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_finding *f = arg->object;
    struct tc_slice name = text_attr(f, TC_LIT(".device"));
    name = name.len > 0 ? name : text_attr(f, TC_LIT(".switch"));
    tc_format(b, "{}",
              f->scope.pci.known && name.len == 0 ? tc_as_pci(f->scope.pci) : TC_ARG(name));
}

/* What to do with the thing. */
static void write_return(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_finding *f = arg->object;
    struct tc_arg node = tc_as_known(f->scope.node, "(unknown)");
    struct tc_arg device = tc_as_written(write_device, f);
    struct tc_slice volume = text_attr(f, TC_LIT(".volume"));
    switch ((enum tc_thing)arg->limit) {
    case TC_THING_GPU:
        tc_format(b, "Drain node {} and return {} (RMA)", node, tc_as_gpu(&f->scope));
        break;
    case TC_THING_PORT:
        tc_format(b, "Replace cable and module of {} of node {}, then the adapter", device, node);
        break;
    case TC_THING_VOLUME:
        tc_format(b, "Move the data off {} and replace it",
                  volume.len > 0 ? tc_when(true, "volume {}", volume)
                                 : tc_when(true, "{} of node {}", device, node));
        break;
    case TC_THING_SWITCH:
        tc_format(b, "Drain node {} and return the baseboard of NVSwitch {} (RMA)", node, device);
        break;
    case TC_THING_NODE:
        tc_format(b,
                  "Take node {} out of service and return it or have it examined as a whole: "
                  "power, cooling, baseboard",
                  node);
        break;
    case TC_THING_DEVICE:
    case TC_THING_NONE:
    case TC_THINGS:
        tc_format(b, "Drain node {} and replace {}", node, device);
        break;
    }
}

bool tc__offender_words(const struct tc_finding *f, const struct tc_recurrence *r,
                        struct tc_arena *arena, struct tc_judgement *out)
{
    struct tc_slice volume = text_attr(f, TC_LIT(".volume"));
    struct tc_slice device = text_attr(f, TC_LIT(".device"));
    size_t max = WORDS_MAX + f->headline.len + f->remediation.len + 2 * f->scope.node.len +
                 f->scope.gpu_uuid.len + volume.len + device.len + r->earlier_count * CITATION_MAX;
    char *text = tc_new(arena, char, max);
    if (text == NULL) {
        return false;
    }
    struct tc_buf b = tc_buf_make(text, max);
    const char *whose = r->thing == TC_THING_NODE ? " of the node" : "";
    struct tc_arg advice = {.write = write_return, .object = f, .limit = (size_t)r->thing};
    out->headline = tc_format(&b, "{}; {} failure{} in {}", f->headline, ordinal(r->count), whose,
                              window(r->window_ns));
    out->remediation = tc_format(
        &b,
        "{}: this is its {} failure in {}, each after it was well or quiet. Earlier incidents: {}. "
        "Until that is done: {}",
        advice, ordinal(r->count), window(r->window_ns), tc_as_written(write_citations, r),
        f->remediation);
    return !b.overflowed;
}
