/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/fields_priv.h"

#include "base/assert.h"
#include "base/time.h"
#include "event/verdict.h"

static struct tc_slice flag(bool is_set)
{
    return is_set ? TC_LIT("true") : TC_EMPTY;
}

static struct tc_slice number(size_t n, struct tc_buf *b)
{
    tc_buf_u64(b, n);
    return tc_buf_slice(b);
}

static struct tc_slice time_text(int64_t ns, struct tc_buf *b)
{
    tc_buf_time(b, ns);
    return tc_buf_slice(b);
}

static struct tc_slice severity_text(enum tc_severity severity)
{
    return tc_slice_cstr(tc_severity_name(severity));
}

#define OF_ALERT(name, expression)                                                       \
    static struct tc_slice write_##name(const struct tc__field_of *of, struct tc_buf *b) \
    {                                                                                    \
        const struct tc_alert *a = of->alert;                                            \
        (void)b;                                                                         \
        return (expression);                                                             \
    }

OF_ALERT(id, a->id)
OF_ALERT(status, a->is_firing ? TC_LIT("firing") : TC_LIT("resolved"))
OF_ALERT(severity, severity_text(a->severity))
OF_ALERT(pattern, a->pattern)
OF_ALERT(headline, a->headline)
OF_ALERT(remediation, a->remediation)
OF_ALERT(node, a->node)
OF_ALERT(gpu, a->gpu)
OF_ALERT(namespace, a->name_space)
OF_ALERT(pod, a->pod)
OF_ALERT(job, a->job)
OF_ALERT(starts_at, time_text(a->starts_ns, b))
OF_ALERT(ends_at, a->is_firing ? TC_EMPTY : time_text(a->ends_ns, b))
OF_ALERT(link, a->link)
OF_ALERT(merged_into, a->merged_into)
OF_ALERT(part_count, number(a->part_count, b))
OF_ALERT(open_count, number(a->open_count, b))
OF_ALERT(more_count,
         a->part_count > a->shown_count ? number(a->part_count - a->shown_count, b) : TC_EMPTY)
OF_ALERT(token, a->token)
OF_ALERT(firing, flag(a->is_firing))
OF_ALERT(resolved, flag(!a->is_firing))
OF_ALERT(critical, flag(a->severity == TC_SEVERITY_CRITICAL))
OF_ALERT(warning, flag(a->severity == TC_SEVERITY_WARNING))
OF_ALERT(info, flag(a->severity == TC_SEVERITY_INFO))

#define OF_PART(name, expression)                                                       \
    static struct tc_slice part_##name(const struct tc__field_of *of, struct tc_buf *b) \
    {                                                                                   \
        const struct tc_alert_part *p = of->part;                                       \
        (void)b;                                                                        \
        return (expression);                                                            \
    }

OF_PART(id, p->id)
OF_PART(status, p->is_open ? TC_LIT("open") : TC_LIT("resolved"))
OF_PART(severity, severity_text(p->severity))
OF_PART(pattern, p->pattern)
OF_PART(headline, p->headline)
OF_PART(node, p->node)
OF_PART(last, flag(p != NULL && of->is_last))

static const struct {
    const char *name;
    struct tc_slice (*write)(const struct tc__field_of *of, struct tc_buf *b);
    bool is_part;
} FIELDS[] = {
#define FIELD(field) {#field, write_##field, false},
#define PART_FIELD(field) {#field, part_##field, true},
#include "alert/fields.def"
#undef FIELD
#undef PART_FIELD
};

size_t tc__field_find(struct tc_slice name, bool in_part)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < TC_COUNT(FIELDS); i++) {
        bool is_it = tc_slice_eq(name, tc_slice_cstr(FIELDS[i].name));
        if (is_it && (in_part || !FIELDS[i].is_part)) {
            found = i; /* those of a part come last, and hide the alert's */
        }
    }
    return found;
}

struct tc_slice tc__field_text(size_t field, const struct tc__field_of *of, struct tc_buf *scratch)
{
    TC_ASSERT(field < TC_COUNT(FIELDS) && (!FIELDS[field].is_part || of->part != NULL));
    tc_buf_reset(scratch);
    return FIELDS[field].write(of, scratch);
}

struct tc_slice tc__field_near(struct tc_slice name)
{
    struct tc_slice best = TC_EMPTY;
    size_t least = name.len < 6 ? 2 : name.len * 2 / 5;
    for (size_t i = 0; i < TC_COUNT(FIELDS); i++) {
        size_t distance = tc_slice_distance(name, tc_slice_cstr(FIELDS[i].name));
        if (distance <= least && distance < name.len) {
            least = distance;
            best = tc_slice_cstr(FIELDS[i].name);
        }
    }
    return best;
}
