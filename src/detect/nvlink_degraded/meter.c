/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters and states of the links of GPUs, and states of those of switches. A link is down when it
 * was up before: links that a board does not use are never up. A counter's rise between two samples
 * that are further apart than the window counts with the part that falls into one.
 */
#include "detect/finding_priv.h"
#include "detect/health_priv.h"
#include "detect/nvlink_degraded/priv.h"

#define STATE_DISABLED 1
#define STATE_DOWN 2
#define STATE_UP 3
/* One rise counts for no more: keeps sums in range whatever a producer claims. */
#define RISE_MAX 1e8
#define NO_LINK (-1)

#define METER_RING_BYTES ((size_t)64 << 20)
#define SWITCH_RING_BYTES ((size_t)20 << 20)

/* The states of the links of a device. */
struct ports {
    struct nvlink_port *at;
    int64_t count;
};

static const struct {
    uint16_t metric;
    enum nvlink_class class;
} COUNTERS[4] = {
    {TC_METRIC_NVLINK_CRC_FLIT, NVLINK_CRC},
    {TC_METRIC_NVLINK_CRC_DATA, NVLINK_CRC},
    {TC_METRIC_NVLINK_REPLAYS, NVLINK_REPLAY},
    {TC_METRIC_NVLINK_RECOVERIES, NVLINK_RECOVERY},
};

static const struct tc_record_type METER = {
    .size = sizeof(struct nvlink_meter),
    .keys = {{TC_FIELD(struct nvlink_meter, id)}},
};
static const struct tc_record_type SWITCH = {
    .size = sizeof(struct nvlink_switch),
    .texts = {TC_TEXT(struct nvlink_switch, node), TC_TEXT(struct nvlink_switch, name)},
    .keys = {{TC_FIELD(struct nvlink_switch, node), TC_FIELD(struct nvlink_switch, name)}},
};

bool tc__nvlink_meters_init(struct nvlink_state *st)
{
    return tc__window_open(&st->meters, &st->base, &METER, METER_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__window_open(&st->switches, &st->base, &SWITCH, SWITCH_RING_BYTES, TC_KEPT_ALWAYS);
}

/* Of a key that is looked for, no more is set: these records are large. */
static struct nvlink_meter *find_meter(const struct nvlink_state *st, uint64_t id)
{
    struct nvlink_meter key;
    key.id = id;
    return tc__window_get(&st->meters, &key);
}

static struct nvlink_switch *find_switch(const struct nvlink_state *st, struct tc_slice node,
                                         struct tc_slice name)
{
    struct nvlink_switch key;
    key.node = node;
    key.name = name;
    return tc__window_get(&st->switches, &key);
}

static void clear_ports(struct nvlink_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ports[i].time_ns = TC_TIME_NONE;
        ports[i].up.time_ns = TC_TIME_NONE;
    }
}

static struct nvlink_switch *get_switch(struct nvlink_state *st, struct tc_slice node,
                                        struct tc_slice name)
{
    struct nvlink_switch *known = find_switch(st, node, name);
    if (known != NULL) {
        return known;
    }
    struct nvlink_switch fresh = {.node = node, .name = name};
    clear_ports(fresh.ports, NVLINK_LINKS_MAX);
    return tc__window_add(&st->switches, &fresh, st->base.now_ns);
}

static struct nvlink_meter *get_meter(struct nvlink_state *st, const struct tc_gpu *gpu)
{
    struct nvlink_meter *known = NULL;
    for (unsigned i = 0; known == NULL && i < TC_GPU_IDS && tc_gpu_id(gpu, i) != 0; i++) {
        known = find_meter(st, tc_gpu_id(gpu, i));
    }
    if (known != NULL) {
        return known;
    }
    struct nvlink_meter fresh = {.id = gpu->id};
    clear_ports(fresh.ports, NVLINK_METERED);
    return tc__window_add(&st->meters, &fresh, st->base.now_ns);
}

static struct nvlink_sample sample_of(const struct tc_event *ev)
{
    return (struct nvlink_sample){ev->time_ns, ev->raw};
}

static struct tc_mark mark_of(struct nvlink_sample s)
{
    return (struct tc_mark){.time_ns = s.time_ns, .raw = s.raw, .known = true};
}

/* The number at the end of "3", "L3", "link 3"; NO_LINK without one. */
static int64_t link_of(struct tc_slice device, int64_t count)
{
    size_t at = device.len;
    while (at > 0 && device.ptr[at - 1] >= '0' && device.ptr[at - 1] <= '9') {
        at--;
    }
    uint64_t link = 0;
    bool number = tc_slice_is_u64(tc_slice_from(device, at), &link);
    return number && link < (uint64_t)count ? (int64_t)link : NO_LINK;
}

/* `d` may be NULL: then only the state is kept. */
static void read_port(struct nvlink_state *st, struct nvlink_device *d, struct ports ports,
                      const struct tc_event *ev)
{
    int64_t link = link_of(ev->metric.device, ports.count);
    double value = ev->metric.value;
    if (link == NO_LINK || (value != STATE_DISABLED && value != STATE_DOWN && value != STATE_UP)) {
        return; /* a link that is not there says nothing */
    }
    struct nvlink_port *p = &ports.at[link];
    uint8_t state = (uint8_t)value;
    if (p->time_ns != TC_TIME_NONE && ev->time_ns <= p->time_ns) {
        /* Of two states at one time the better, whichever came first. */
        st->base.late += ev->time_ns < p->time_ns;
        state = p->state > state || ev->time_ns < p->time_ns ? p->state : state;
    }
    p->time_ns = ev->time_ns > p->time_ns ? ev->time_ns : p->time_ns;
    p->state = state;
    struct tc_mark mark = tc__mark(ev);
    if (state == STATE_UP) {
        if (ev->time_ns == p->time_ns) {
            p->up = sample_of(ev);
        }
        struct tc_mark newest;
        if (d != NULL && d->open && d->down.first.known && tc__nvlink_all_up(st, d, &newest)) {
            tc__nvlink_announce(st, d, ev->time_ns, ev->time_ns + 1);
        }
        return;
    }
    if (d == NULL || p->up.time_ns == TC_TIME_NONE || ev->time_ns < p->time_ns) {
        return;
    }
    bool known = d->down.first.known && tc__nvlink_has_link(d, link);
    if (known || (d->joined_ns != TC_TIME_NONE && d->joined_ns >= p->up.time_ns - st->join_ns)) {
        return; /* told, or put down to a switch */
    }
    tc__nvlink_begin(d, ev->time_ns);
    if (tc__mark_first(&d->down.first, &mark)) {
        d->up = mark_of(p->up);
        d->down.link = link;
    }
    (void)tc__mark_last(&d->down.last, &mark);
    tc__nvlink_add_link(d, link);
    tc__nvlink_announce(st, d, ev->time_ns, ev->time_ns + st->join_ns + 1);
}

/* DCGM says that a link of a GPU is down: it knows of no time when it was up. */
void tc__nvlink_health(struct nvlink_state *st, const struct tc_event *ev)
{
    int64_t link = 0;
    if (tc__health_of(&ev->health, &link) != TC__HEALTH_LINK_DOWN || link >= NVLINK_METERED) {
        return;
    }
    const struct tc_gpu *gpu = tc__health_gpu(st->directory, ev);
    struct nvlink_device *d = gpu == NULL ? NULL : tc__nvlink_gpu(st, gpu);
    if (d == NULL) {
        st->base.ignored++;
        return;
    }
    if (d->down.first.known && tc__nvlink_has_link(d, link)) {
        return;
    }
    struct tc_mark mark = tc__mark(ev);
    tc__nvlink_begin(d, ev->time_ns);
    if (tc__mark_first(&d->down.first, &mark)) {
        d->up.known = false;
        d->down.link = link;
    }
    (void)tc__mark_last(&d->down.last, &mark);
    tc__nvlink_add_link(d, link);
    tc__nvlink_announce(st, d, ev->time_ns, ev->time_ns + st->join_ns + 1);
}

static struct ports ports_of(const struct nvlink_state *st, const struct nvlink_device *d)
{
    if (d->role == NVLINK_SWITCH) {
        struct nvlink_switch *s = find_switch(st, d->node, d->name);
        return s == NULL ? (struct ports){NULL, 0} : (struct ports){s->ports, NVLINK_LINKS_MAX};
    }
    struct nvlink_meter *m = find_meter(st, d->id);
    return m == NULL ? (struct ports){NULL, 0} : (struct ports){m->ports, NVLINK_METERED};
}

bool tc__nvlink_all_up(const struct nvlink_state *st, const struct nvlink_device *d,
                       struct tc_mark *out)
{
    struct ports ports = ports_of(st, d);
    *out = (struct tc_mark){.known = false};
    for (int64_t i = 0; i < ports.count; i++) {
        const struct nvlink_port *p = &ports.at[i];
        if (!tc__nvlink_has_link(d, i) || p->time_ns == TC_TIME_NONE) {
            continue;
        }
        if (p->state != STATE_UP) {
            return false;
        }
        struct tc_mark mark = mark_of(p->up);
        (void)tc__mark_last(out, &mark);
    }
    return out->known;
}

/* The sum of a class over the window that ends at a time. */
static int64_t sum_window(const struct nvlink_meter *m, enum nvlink_class class, int64_t number)
{
    int64_t sums[2] = {0, 0};
    for (size_t i = 0; i < NVLINK_STEPS; i++) {
        if (m->steps[i].number > number - NVLINK_STEPS && m->steps[i].number <= number) {
            sums[0] += m->steps[i].sums[class][0];
            sums[1] += m->steps[i].sums[class][1];
        }
    }
    /* Exporters may give the links and their sum: both tell of the same errors. */
    return sums[0] > sums[1] ? sums[0] : sums[1];
}

static void add_rise(struct nvlink_step *s, enum nvlink_class class, int64_t link, double rise,
                     const struct tc_event *ev)
{
    struct tc_mark mark = tc__mark(ev);
    struct tc_mark first = mark_of(s->first);
    struct tc_mark last = mark_of(s->last);
    first.known = s->first.time_ns != TC_TIME_NONE;
    last.known = first.known;
    s->first = tc__mark_first(&first, &mark) ? sample_of(ev) : s->first;
    s->last = tc__mark_last(&last, &mark) ? sample_of(ev) : s->last;
    s->sums[class][link != NO_LINK] += (uint32_t)rise;
    s->links |= link == NO_LINK ? 0 : UINT64_C(1) << link;
}

void tc__nvlink_measure(const struct nvlink_state *st, struct nvlink_device *d)
{
    const struct nvlink_meter *m = find_meter(st, d->id);
    int64_t number = d->storm.last.time_ns / (st->window_ns / NVLINK_STEPS);
    if (m == NULL) {
        return;
    }
    for (size_t i = 0; i < NVLINK_STEPS; i++) {
        const struct nvlink_step *s = &m->steps[i];
        if (s->number <= number - NVLINK_STEPS || s->number > number) {
            continue;
        }
        struct tc_mark first = mark_of(s->first);
        struct tc_mark last = mark_of(s->last);
        (void)tc__mark_first(&d->storm.first, &first);
        (void)tc__mark_last(&d->storm.last, &last);
        d->links[0] |= s->links;
    }
    for (unsigned class = 0; class < NVLINK_CLASSES; class ++) {
        d->totals[class] = sum_window(m, (enum nvlink_class) class, number);
    }
}

static void read_counter(struct nvlink_state *st, const struct tc_gpu *gpu, struct nvlink_meter *m,
                         const struct tc_event *ev, size_t which)
{
    int64_t link = link_of(ev->metric.device, NVLINK_METERED);
    size_t at = link == NO_LINK ? NVLINK_METERED : (size_t)link;
    struct tc_counter *c = &m->counters[which][at];
    int64_t apart_ns = ev->time_ns - (c->known ? c->time_ns : ev->time_ns);
    double rise = tc__counter_rise(c, ev->metric.value, ev->time_ns);
    if (rise > 0 && apart_ns > st->window_ns) {
        rise = rise * (double)st->window_ns / (double)apart_ns;
    }
    int64_t number = ev->time_ns / (st->window_ns / NVLINK_STEPS);
    struct nvlink_step *s = &m->steps[number % NVLINK_STEPS];
    if (rise < 1 || s->number > number) {
        return;
    }
    if (s->number < number) {
        *s = (struct nvlink_step){.number = number, .first = {.time_ns = TC_TIME_NONE}};
    }
    enum nvlink_class class = COUNTERS[which].class;
    add_rise(s, class, link, rise > RISE_MAX ? RISE_MAX : rise, ev);
    struct nvlink_device *d = tc__nvlink_gpu(st, gpu);
    bool storm = d != NULL && d->storm.first.known;
    if (d == NULL || (!storm && sum_window(m, class, number) < st->limits[class])) {
        return;
    }
    struct tc_mark mark = tc__mark(ev);
    (void)tc__mark_first(&d->storm.first, &mark);
    if (!storm) {
        d->storm.last.known = false;
    }
    (void)tc__mark_last(&d->storm.last, &mark);
    if (!d->open) {
        tc__nvlink_announce(st, d, ev->time_ns, ev->time_ns + 1);
    }
}

/* "nvswitch1/7": the name before the link's number; empty when it is no link of a switch. */
static struct tc_slice switch_of(struct tc_slice device)
{
    size_t at = device.len;
    while (at > 0 && device.ptr[at - 1] != '/') {
        at--;
    }
    return at > 1 ? tc_slice_head(device, at - 1) : TC_EMPTY;
}

static bool read_switch(struct nvlink_state *st, const struct tc_event *ev)
{
    struct tc_slice name = switch_of(ev->metric.device);
    if (name.len == 0 || name.len > TC_SCOPE_TEXT_MAX || ev->scope.node.len == 0) {
        return false;
    }
    struct nvlink_switch *s = get_switch(st, ev->scope.node, name);
    if (s == NULL) {
        return false;
    }
    read_port(st, tc__nvlink_switch(st, ev->scope.node, name),
              (struct ports){s->ports, NVLINK_LINKS_MAX}, ev);
    return true;
}

static bool names_no_gpu(const struct tc_scope *s)
{
    return s->gpu_uuid.len == 0 && s->gpu_index < 0 && !s->pci.known;
}

void tc__nvlink_metric(struct nvlink_state *st, const struct tc_event *ev)
{
    bool state = ev->metric.metric == TC_METRIC_NVLINK_STATE;
    size_t which = 0;
    while (which < 4 && COUNTERS[which].metric != ev->metric.metric) {
        which++;
    }
    if ((!state && which == 4) || ev->metric.value < 0) {
        return;
    }
    if (state && names_no_gpu(&ev->scope)) {
        st->base.ignored += !read_switch(st, ev);
        return;
    }
    const struct tc_gpu *gpu = tc_directory_event_gpu(st->directory);
    struct nvlink_meter *m = gpu == NULL ? NULL : get_meter(st, gpu);
    if (m == NULL) {
        st->base.ignored++;
        return;
    }
    if (state) {
        read_port(st, tc__nvlink_gpu(st, gpu), (struct ports){m->ports, NVLINK_METERED}, ev);
    } else {
        read_counter(st, gpu, m, ev, which);
    }
}
