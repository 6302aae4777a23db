/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error reports by device. What happened at one instant is gathered before it is
 * told, so that the order of its lines makes no difference; a storm is told once
 * and again at most once a window, when it has doubled.
 */
#include "detect/pcie_aer/priv.h"

/* An uncorrectable error is not cleared by silence, but a day later it is another incident. */
#define EPISODE_NS (86400 * TC_SECOND)
/* One event does not stand for more: keeps sums in range whatever a producer claims. */
#define COUNT_MAX INT64_C(1000000000)
#define TOTAL_MAX (INT64_MAX - COUNT_MAX)

#define RING_BYTES ((size_t)8 << 20)
#define NIC_RING_BYTES ((size_t)256 << 10)

static const struct tc_record_type DEVICE = {
    .size = sizeof(struct pcie_errors),
    .texts = {TC_TEXT(struct pcie_errors, node)},
    .keys = {{TC_FIELD(struct pcie_errors, node), TC_FIELD(struct pcie_errors, pci)}},
};

struct nic {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice name;
    struct tc_bdf pci;
};

static const struct tc_record_type NIC = {
    .size = sizeof(struct nic),
    .texts = {TC_TEXT(struct nic, node), TC_TEXT(struct nic, name)},
    .keys = {{TC_FIELD(struct nic, node), TC_FIELD(struct nic, pci)}},
};

static const struct nic *find_nic(const struct pcie_state *st, struct tc_slice node,
                                  struct tc_bdf pci)
{
    struct nic key = {.node = node, .pci = pci};
    return tc__window_get(&st->nics, &key);
}

void tc__pcie_learn_nic(struct pcie_state *st, const struct tc_event *ev)
{
    struct tc_bdf none = {0};
    struct tc_slice name = ev->fault.device;
    if (!ev->scope.pci.known || name.len == 0 || name.len > PCIE_WORD_MAX ||
        tc_bdf_parse(name, &none) > 0) {
        return; /* a card that the log only knows by its address has no name to learn */
    }
    const struct nic *known = find_nic(st, ev->scope.node, ev->scope.pci);
    if (known == NULL || !tc_slice_eq(known->name, name)) {
        struct nic nic = {.node = ev->scope.node, .name = name, .pci = ev->scope.pci};
        (void)tc__window_add(&st->nics, &nic, st->base.now_ns);
    }
}

static struct tc_slice read_layer(struct tc_slice text)
{
    static const char *const layers[] = {"physical", "data_link", "transaction", NULL};
    int which = tc_slice_which(text, layers);
    return which < 0 ? TC_EMPTY : tc_slice_cstr(layers[which]);
}

static struct pcie_errors *get_device(struct pcie_state *st, const struct tc_event *ev,
                                      struct tc_bdf pci)
{
    struct pcie_errors key = {.node = ev->scope.node, .pci = pci, .news_ns = TC_WAITING_NEVER};
    return tc__window_get_or_add(&st->errors, &key, ev->time_ns);
}

/*
 * The same report told again: by id; or, without one, by the same words at a time
 * finer than a second, since no device makes two reports in one microsecond; or by
 * another source within a second.
 */
static bool is_repeat(struct pcie_errors *e, const struct tc_event *ev)
{
    bool named = ev->uid.len > 0;
    bool fine = ev->time_ns % TC_SECOND != 0;
    uint64_t fact = 0;
    if (named) {
        fact = tc_hash_mix(tc_slice_hash(ev->uid, 1), (uint64_t)ev->aer.count);
    } else if (fine) {
        fact = tc_hash_mix((uint64_t)ev->time_ns, tc_slice_hash(ev->aer.severity, 2));
        fact = tc_hash_mix(fact, (uint64_t)ev->aer.status);
        fact = tc_hash_mix(
            fact, tc_hash_mix(tc_slice_hash(ev->aer.errors, 5), tc__pci_number(ev->aer.reporter)));
    }
    if (named || fine) {
        fact |= 1; /* 0 is an empty place */
        uint64_t *kept = &e->recent[fact / 2 % PCIE_RECENT];
        bool repeat = *kept == fact;
        *kept = fact;
        if (repeat || named) {
            return repeat;
        }
    }
    return !tc__tell(&e->tellers, ev->raw.source, ev->time_ns);
}

/* Puts corrected errors into their step. False when they are older than the window. */
static bool add_step(struct pcie_errors *e, const struct tc_mark *mark, int64_t count,
                     int64_t window_ns)
{
    int64_t number = mark->time_ns / (window_ns / PCIE_STEPS);
    struct pcie_step *s = &e->steps[number % PCIE_SLOTS];
    if (s->count > 0 && number < s->number) {
        return false;
    }
    if (s->count == 0 || number > s->number) {
        e->live -= s->count;
        *s = (struct pcie_step){.number = number, .last_ns = mark->time_ns};
    }
    (void)tc__mark_first(&s->first, mark);
    s->last_ns = mark->time_ns > s->last_ns ? mark->time_ns : s->last_ns;
    s->count += count;
    e->live += count;
    return true;
}

/*
 * Corrected errors in the window that ends at to_ns, and the first of them. A step
 * that reaches over the edge counts only as the one error known to be inside.
 */
static int64_t count_window(const struct pcie_errors *e, int64_t to_ns, int64_t window_ns,
                            struct tc_mark *out_first)
{
    int64_t count = 0;
    out_first->known = false;
    for (size_t i = 0; i < PCIE_SLOTS; i++) {
        const struct pcie_step *s = &e->steps[i];
        if (s->count == 0 || s->last_ns < to_ns - window_ns) {
            continue;
        }
        bool whole = s->first.time_ns >= to_ns - window_ns;
        count += whole ? s->count : 1;
        if (whole) {
            (void)tc__mark_first(out_first, &s->first);
        }
    }
    return count;
}

static bool waits_before(const void *a, const void *b)
{
    const struct pcie_errors *x = a;
    const struct pcie_errors *y = b;
    if (x->since_ns != y->since_ns) {
        return x->since_ns < y->since_ns;
    }
    int order = tc_slice_cmp(x->node, y->node);
    return order != 0 ? order < 0 : tc__pci_number(x->pci) < tc__pci_number(y->pci);
}

bool tc__pcie_errors_init(struct pcie_state *st)
{
    size_t devices = RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct pcie_errors), 0);
    return tc__window_open(&st->errors, &st->base, &DEVICE, RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__window_open(&st->nics, &st->base, &NIC, NIC_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__waiting_init(&st->errors_due, st->base.arena, &st->errors, devices, waits_before);
}

/* There is something to tell about the device as of time_ns. */
static void announce(struct pcie_state *st, struct pcie_errors *e, int64_t time_ns, int64_t due_ns)
{
    e->news_ns = time_ns < e->news_ns ? time_ns : e->news_ns;
    if (e->waits) {
        tc__waiting_hasten(&st->errors_due, due_ns);
        return;
    }
    e->waits = tc__waiting_add(&st->errors_due, e, due_ns);
}

static void end_episode(struct pcie_errors *e)
{
    e->open = false;
    e->storm = false;
    e->news_ns = TC_WAITING_NEVER;
    e->told_count = 0;
    for (unsigned i = 0; i < PCIE_SEVERITIES; i++) {
        e->counts[i] = 0;
        e->first[i].known = false;
        e->last[i].known = false;
        e->errors[i].len = 0;
        e->layers[i] = TC_EMPTY;
    }
}

static int64_t last_ns(const struct pcie_errors *e)
{
    int64_t last = TC_TIME_NONE;
    for (unsigned i = 0; i < PCIE_SEVERITIES; i++) {
        last = e->last[i].known && e->last[i].time_ns > last ? e->last[i].time_ns : last;
    }
    return last;
}

static enum pcie_severity worst(const struct pcie_errors *e)
{
    return e->counts[PCIE_FATAL] > 0
               ? PCIE_FATAL
               : (e->counts[PCIE_NONFATAL] > 0 ? PCIE_NONFATAL : PCIE_CORRECTED);
}

static void add_count(int64_t *io, int64_t count)
{
    *io = *io > TOTAL_MAX ? *io : *io + count;
}

/* True when the error is worth a word of its own, and not one more of what was told. */
static bool is_news(const struct pcie_errors *e, enum pcie_severity severity)
{
    return !e->open || severity > e->told;
}

static void fold_uncorrectable(struct pcie_state *st, struct pcie_errors *e,
                               enum pcie_severity severity, int64_t count,
                               const struct tc_mark *mark)
{
    int64_t newest_ns = last_ns(e);
    if (newest_ns != TC_TIME_NONE && mark->time_ns - newest_ns > EPISODE_NS) {
        end_episode(e);
    }
    if (!e->open && e->news_ns == TC_WAITING_NEVER) {
        e->since_ns = mark->time_ns;
    }
    add_count(&e->counts[severity], count);
    (void)tc__mark_first(&e->first[severity], mark);
    (void)tc__mark_last(&e->last[severity], mark);
    bool news = is_news(e, severity);
    announce(st, e, mark->time_ns, news ? mark->time_ns + 1 : e->told_ns + st->window_ns + 1);
}

static void fold_corrected(struct pcie_state *st, struct pcie_errors *e, int64_t count,
                           const struct tc_mark *mark)
{
    struct tc_mark first;
    if (!add_step(e, mark, count, st->window_ns)) {
        st->base.late++;
        return;
    }
    if (e->storm) {
        add_count(&e->counts[PCIE_CORRECTED], count);
        (void)tc__mark_last(&e->last[PCIE_CORRECTED], mark);
        if (e->open) {
            announce(st, e, mark->time_ns, e->told_ns + st->window_ns + 1);
        }
        return;
    }
    if (e->live < st->corrected) {
        return;
    }
    int64_t inside = count_window(e, mark->time_ns, st->window_ns, &first);
    if (inside < st->corrected || !first.known) {
        return;
    }
    e->storm = true;
    e->counts[PCIE_CORRECTED] = inside;
    e->first[PCIE_CORRECTED] = first;
    e->last[PCIE_CORRECTED] = *mark;
    if (!e->open && e->news_ns == TC_WAITING_NEVER) {
        e->since_ns = first.time_ns;
        announce(st, e, mark->time_ns, mark->time_ns + 1);
    }
}

static void keep_words(struct pcie_errors *e, enum pcie_severity severity,
                       const struct tc_ev_aer *aer)
{
    struct tc_slice layer = read_layer(aer->layer);
    if (aer->reporter.known) {
        e->reporter = aer->reporter;
    }
    if (aer->device_id.len > 0) {
        e->device_id = tc__pcie_word(aer->device_id);
    }
    if (aer->errors.len > 0) {
        e->errors[severity] = tc__pcie_word(aer->errors);
    }
    e->layers[severity] = layer.len > 0 ? layer : e->layers[severity];
}

void tc__pcie_aer(struct pcie_state *st, const struct tc_event *ev)
{
    int which = tc_slice_which(ev->aer.severity, tc__pcie_severities);
    struct tc_bdf pci = ev->scope.pci.known ? ev->scope.pci : ev->aer.reporter;
    if (!pci.known || which < 0) {
        st->base.ignored++;
        return;
    }
    enum pcie_severity severity = (enum pcie_severity)which;
    bool masked = ev->aer.status >= 0 && ev->aer.mask >= 0 && (ev->aer.status & ~ev->aer.mask) == 0;
    struct pcie_errors *e = masked ? NULL : get_device(st, ev, pci);
    /* A storm is so many within some time, which undated ones cannot tell. */
    bool untimed = severity == PCIE_CORRECTED && !tc_time_is_date(ev->time_ns);
    if (e == NULL || untimed || is_repeat(e, ev)) {
        return;
    }
    int64_t count = ev->aer.count < 1 ? 1 : ev->aer.count;
    count = count > COUNT_MAX ? COUNT_MAX : count;
    struct tc_mark mark = tc__mark(ev);
    if (severity == PCIE_CORRECTED) {
        fold_corrected(st, e, count, &mark);
    } else {
        fold_uncorrectable(st, e, severity, count, &mark);
    }
    keep_words(e, severity, &ev->aer);
}

/* What sits at the address: a GPU's other functions (audio) hang on the same link. */
static struct pcie_place place_of(const struct pcie_state *st, const struct pcie_errors *e)
{
    struct pcie_place p = {.scope = TC_SCOPE_NONE, .sort = PCIE_IS_OTHER};
    p.scope.node = e->node;
    p.scope.pci = e->pci;
    struct tc_scope main = p.scope;
    main.pci.function = 0;
    const struct tc_gpu *gpu = tc_directory_gpu(st->directory, &main);
    const struct nic *nic = find_nic(st, e->node, e->pci);
    struct tc_slice id = tc__pcie_text(&e->device_id);
    if (e->node.len > 0 && gpu != NULL && (gpu->uuid.len > 0 || gpu->index >= 0)) {
        tc_gpu_complete(gpu, &p.scope);
        p.sort = PCIE_IS_GPU;
    } else if (nic != NULL) {
        p.sort = PCIE_IS_NIC;
        p.nic = nic->name;
    } else if (tc_slice_starts(id, TC_LIT("15b3:"))) {
        p.sort = PCIE_IS_NIC; /* Mellanox makes network cards */
    }
    return p;
}

static tc_status tell(struct pcie_state *st, struct pcie_errors *e, bool resolved,
                      const struct tc_sink *out)
{
    struct pcie_place place = place_of(st, e);
    bool incomplete = st->errors.lost_ns >= e->since_ns;
    TC_TRY(tc__pcie_report_errors(e, &place, st->window_ns, resolved, incomplete, st->base.scratch,
                                  out));
    e->open = true;
    e->told = worst(e);
    e->told_count = e->counts[e->told];
    e->told_ns = last_ns(e);
    e->news_ns = TC_WAITING_NEVER;
    return TC_OK;
}

/* Tells what is new; of more of the same, at the end or when it has doubled, once a window. */
static tc_status tell_news(struct pcie_state *st, struct pcie_errors *e, int64_t now_ns,
                           const struct tc_sink *out, int64_t *io_due_ns)
{
    bool news = is_news(e, worst(e));
    bool doubled = e->counts[e->told] >= 2 * e->told_count;
    int64_t due_ns = news ? e->news_ns + 1 : e->told_ns + st->window_ns + 1;
    if (st->finishing || (now_ns >= due_ns && (news || doubled))) {
        return tell(st, e, false, out);
    }
    *io_due_ns = now_ns >= due_ns ? now_ns + st->window_ns : due_ns;
    return TC_OK;
}

static tc_status visit(void *state, void *record, int64_t now_ns, const struct tc_sink *out,
                       int64_t *io_due_ns)
{
    struct pcie_state *st = state;
    struct pcie_errors *e = record;
    if (e->news_ns != TC_WAITING_NEVER) {
        TC_TRY(tell_news(st, e, now_ns, out, io_due_ns));
    }
    if (e->open && e->storm && worst(e) == PCIE_CORRECTED) {
        int64_t quiet_ns = e->last[PCIE_CORRECTED].time_ns + st->window_ns;
        if (now_ns > quiet_ns && !st->finishing) {
            TC_TRY(tell(st, e, true, out));
            end_episode(e);
            *io_due_ns = TC_WAITING_NEVER;
        } else {
            *io_due_ns = quiet_ns + 1 < *io_due_ns ? quiet_ns + 1 : *io_due_ns;
        }
    }
    e->waits = *io_due_ns != TC_WAITING_NEVER;
    return TC_OK;
}

tc_status tc__pcie_errors_run(struct pcie_state *st, int64_t now_ns, const struct tc_sink *out)
{
    return tc__waiting_run(&st->errors_due, now_ns, visit, st, out);
}
