/* SPDX-License-Identifier: Apache-2.0 */
/* Events and verdicts are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/time.h"
#include "directory/directory.h"
#include "story/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define S TC_SECOND
#define UUID "GPU-34d874be-0835-5f1e-8425-67ac19991809"

/* A story, and the directory that it asks. */
struct world {
    struct tc_story *story;
    struct tc_directory *directory;
};

static struct world *world_create(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->story = tc_story_create();
    w->directory = tc_directory_create(TC_STATEMENTS_FIRST, 1);
    assert_true(w->story != NULL && w->directory != NULL);
    return w;
}

static void world_destroy(struct world *w)
{
    tc_story_destroy(w->story);
    tc_directory_destroy(w->directory);
    free(w);
}

static int setup(void **state)
{
    *state = world_create();
    return 0;
}

static int teardown(void **state)
{
    world_destroy(*state);
    return 0;
}

/* ---- making events and verdicts ---- */

static struct tc_slice text_or_none(const char *s)
{
    return s == NULL ? TC_EMPTY : tc_slice_cstr(s);
}

/* What an event, or a verdict, says of its place; NULL, 0 and false are not known. */
struct at {
    const char *node;
    const char *uuid;
    const char *pod;
    const char *job;
    const char *origin;
    int bus;      /* PCI bus + 1 */
    int index;    /* GPU index + 1 */
    int rank;     /* rank + 1 */
    bool undated; /* for events */
};

static struct tc_scope scope_of(struct at a)
{
    struct tc_scope s = TC_SCOPE_NONE;
    s.node = text_or_none(a.node);
    s.gpu_uuid = text_or_none(a.uuid);
    s.pod = text_or_none(a.pod);
    s.ns = a.pod == NULL ? TC_EMPTY : TC_LIT("train");
    s.job = text_or_none(a.job);
    s.rank = a.rank - 1;
    s.gpu_index = a.index - 1;
    if (a.bus > 0) {
        s.pci = (struct tc_bdf){0, (uint8_t)(a.bus - 1), 0, 0, true};
    }
    return s;
}

static void note(struct world *w, int64_t time_ns, struct at a)
{
    struct tc_event ev;
    tc_event_init(&ev, a.rank > 0 ? TC_EVENT_RANK_PLACE : TC_EVENT_METRIC);
    ev.time_ns = a.undated ? TC_TIME_NONE : time_ns;
    ev.scope = scope_of(a);
    if (a.rank > 0) {
        ev.place.origin = text_or_none(a.origin);
    }
    tc_directory_note(w->directory, &ev);
}

/* A verdict of a pattern; its id is the pattern's name and n, padded. */
struct made {
    const char *pattern;
    int n;
    int64_t first_ns;
    int64_t last_ns; /* 0: first_ns */
    struct at at;
    int32_t culprits[4]; /* rank + 1 */
    const char *discriminator;
    int64_t pod_ns; /* the time of its pod_event; 0 for none */
    bool partial;
    const char *own_cause;
    const char *device; /* its device_type */
};

static struct tc_slice id_text(char *out, const char *pattern, int n)
{
    (void)snprintf(out, TC_INCIDENT_ID_LEN + 1, "%s-%d-00000000000000000000000000", pattern, n);
    return tc_slice_make(out, TC_INCIDENT_ID_LEN);
}

static void add(struct world *w, struct made m)
{
    char id[64];
    char cause_id[64];
    int32_t ranks[4];
    size_t count = 0;
    for (; count < 4 && m.culprits[count] > 0; count++) {
        ranks[count] = m.culprits[count] - 1;
    }
    struct tc_attr attr = {.key = TC_LIT("tracecore.alert.x.culprit_ranks"),
                           .type = TC_ATTR_INTS,
                           .ints = ranks,
                           .count = count};
    if (m.device != NULL) {
        attr = (struct tc_attr){.key = TC_LIT("tracecore.alert.x.device_type"),
                                .type = TC_ATTR_STRING,
                                .string = tc_slice_cstr(m.device)};
    }
    struct tc_evidence evidence = {
        .kind = TC_LIT("pod_event"), .uid = TC_LIT("u"), .time_ns = m.pod_ns};
    struct tc_finding f = {
        .pattern_id = TC_LIT("1"),
        .pattern_name = tc_slice_cstr(m.pattern),
        .discriminator = text_or_none(m.discriminator),
        .headline = tc_slice_cstr(m.pattern),
        .first_ns = m.first_ns,
        .last_ns = m.last_ns == 0 ? m.first_ns : m.last_ns,
        .scope = scope_of(m.at),
        .confidence = m.partial ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL,
        .attrs = &attr,
        .attr_count = count > 0 || m.device != NULL,
        .evidence = &evidence,
        .evidence_count = m.pod_ns != 0,
    };
    struct tc_verdict_cause cause = {.why = TC_LIT("its own reason")};
    if (m.own_cause != NULL) {
        cause.incident_id = id_text(cause_id, m.own_cause, 1);
    }
    struct tc_verdict v = {.finding = &f,
                           .incident_id = id_text(id, m.pattern, m.n == 0 ? 1 : m.n),
                           .first_ns = m.first_ns,
                           .causes = &cause,
                           .cause_count = m.own_cause != NULL};
    assert_int_equal(tc_story_add(w->story, &v), TC_OK);
}

/* ---- looking at what came of it ---- */

static const struct tc_incident_entry *get(struct world *w, const char *pattern, int n)
{
    char id[64];
    struct tc_incident_table *kept = tc_story_verdicts(w->story);
    size_t at = tc_incident_table_find(kept, id_text(id, pattern, n));
    if (at == TC_INCIDENT_NONE) {
        fail_msg("no verdict %s %d", pattern, n);
    }
    return &kept->items[at];
}

static const struct tc_verdict_cause *link_of(struct world *w, const char *cause,
                                              const char *effect)
{
    const struct tc_verdict *c = &get(w, cause, 1)->verdict;
    const struct tc_verdict *e = &get(w, effect, 1)->verdict;
    for (size_t i = 0; i < e->cause_count; i++) {
        if (tc_slice_eq(e->causes[i].incident_id, c->incident_id)) {
            return &e->causes[i];
        }
    }
    return NULL;
}

#define assert_linked(w, cause, effect) assert_non_null(link_of(w, cause, effect))
#define assert_apart(w, cause, effect) assert_null(link_of(w, cause, effect))

static void link_all(struct world *w)
{
    assert_int_equal(tc_story_link(w->story, w->directory, NULL), TC_OK);
}

static void assert_why(struct world *w, const char *cause, const char *effect, const char *why)
{
    const struct tc_verdict_cause *c = link_of(w, cause, effect);
    assert_non_null(c);
    if (!tc_slice_eq(c->why, tc_slice_cstr(why))) {
        fail_msg("why: %.*s", TC_FMT(c->why));
    }
}

/* ---- tests ---- */

static void ecc(struct world *w, int64_t time_ns)
{
    add(w, (struct made){.pattern = "hbm_ecc",
                         .first_ns = time_ns,
                         .at = {.node = "gpu-07", .uuid = UUID, .bus = 0x43 + 1}});
}

static void hang(struct world *w, int64_t time_ns)
{
    add(w, (struct made){.pattern = "nccl_hang",
                         .first_ns = time_ns,
                         .at = {.job = "llama"},
                         .culprits = {5 + 1}});
}

static void a_rank_of_the_map_leads_to_its_gpu(void **state)
{
    struct world *w = *state;
    note(w, 0,
         (struct at){.rank = 6, .node = "gpu-07", .index = 4, .origin = "map", .undated = true});
    note(w, T0, (struct at){.node = "gpu-07", .index = 4, .uuid = UUID});
    ecc(w, T0);
    hang(w, T0 + 12 * S);
    link_all(w);
    assert_why(w, "hbm_ecc", "nccl_hang",
               "rank 5 ran on " UUID " of node gpu-07, by --map; hbm_ecc began 12 s before");
    assert_true(get(w, "hbm_ecc", 1)->finding.root);
    assert_false(get(w, "nccl_hang", 1)->finding.root);
    assert_true(tc_slice_eq(get(w, "nccl_hang", 1)->verdict.group,
                            get(w, "hbm_ecc", 1)->verdict.incident_id));
}

static void another_gpu_of_the_same_node_is_no_cause(void **state)
{
    struct world *w = *state;
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .index = 3, .undated = true});
    note(w, T0, (struct at){.node = "gpu-07", .index = 4, .uuid = UUID});
    ecc(w, T0);
    hang(w, T0 + 12 * S);
    link_all(w);
    assert_apart(w, "hbm_ecc", "nccl_hang");
    assert_false(get(w, "hbm_ecc", 1)->finding.root);
    assert_int_equal(get(w, "hbm_ecc", 1)->verdict.group.len, 0);
}

static void the_node_is_enough_while_the_gpu_of_the_rank_is_not_known(void **state)
{
    struct world *w = *state;
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .origin = "ncclras", .undated = true});
    ecc(w, T0);
    hang(w, T0 + 12 * S);
    link_all(w);
    assert_why(w, "hbm_ecc", "nccl_hang",
               "rank 5 ran on node gpu-07, by NCCL's monitor; hbm_ecc began 12 s before (same "
               "node; nothing says that it is another GPU)");
}

static void facts_of_one_time_are_told_in_one_order(void **state)
{
    (void)state;
    static const struct at facts[] = {
        {.rank = 6, .node = "gpu-07", .index = 4, .origin = "ncclras"},
        {.rank = 6, .node = "gpu-07", .index = 4, .origin = "labels"},
        {.rank = 6, .node = "gpu-07", .bus = 0x43 + 1, .index = 4, .origin = "map"},
        {.node = "gpu-07", .index = 4, .uuid = UUID},
    };
    for (size_t first = 0; first < 24; first++) {
        struct at order[4];
        for (size_t i = 0, left = first; i < 4; i++) {
            size_t j = left % (i + 1);
            left /= i + 1;
            order[i] = order[j];
            order[j] = facts[i];
        }
        struct world *w = world_create();
        for (size_t i = 0; i < 4; i++) {
            note(w, T0, order[i]);
        }
        ecc(w, T0);
        hang(w, T0 + 12 * S);
        link_all(w);
        assert_why(w, "hbm_ecc", "nccl_hang",
                   "rank 5 ran on " UUID
                   " of node gpu-07, by NCCL's monitor; hbm_ecc began 12 s before");
        world_destroy(w);
    }
}

static void without_a_place_nothing_is_linked(void **state)
{
    struct world *w = *state;
    ecc(w, T0);
    hang(w, T0 + S);
    link_all(w);
    assert_apart(w, "hbm_ecc", "nccl_hang");
}

static void time_has_two_edges(void **state)
{
    static const struct {
        int64_t hang_s;
        bool linked;
    } cases[] = {{-61, false}, {-60, true}, {0, true}, {3600, true}, {3601, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world *w = world_create();
        assert_non_null(w);
        note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .undated = true});
        ecc(w, T0);
        hang(w, T0 + cases[i].hang_s * S);
        link_all(w);
        bool linked = link_of(w, "hbm_ecc", "nccl_hang") != NULL;
        if (linked != cases[i].linked) {
            fail_msg("hang %lld s after", (long long)cases[i].hang_s);
        }
        world_destroy(w);
    }
    (void)state;
}

/* A long incident may begin long before; what counts is when it was last seen. */
static void a_cause_counts_from_when_it_was_last_seen(void **state)
{
    struct world *w = *state;
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .undated = true});
    add(w, (struct made){.pattern = "hbm_ecc",
                         .first_ns = T0,
                         .last_ns = T0 + 7000 * S,
                         .at = {.node = "gpu-07"}});
    hang(w, T0 + 7001 * S);
    link_all(w);
    assert_linked(w, "hbm_ecc", "nccl_hang");
}

/* ECC, Xid, hang and eviction: each follows from the one before, and is told once. */
static void a_chain_is_told_link_by_link(void **state)
{
    struct world *w = *state;
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .index = 4, .undated = true});
    note(w, T0 - 60 * S,
         (struct at){.node = "gpu-07", .index = 4, .uuid = UUID, .pod = "worker-5"});
    note(w, T0 - 90 * S, (struct at){.node = "gpu-07", .bus = 0x43 + 1, .uuid = UUID});
    ecc(w, T0);
    add(w, (struct made){.pattern = "xid_correlation",
                         .first_ns = T0 + S,
                         .pod_ns = T0 + 200 * S,
                         .at = {.node = "gpu-07", .bus = 0x43 + 1, .pod = "worker-5"}});
    hang(w, T0 + 2 * S);
    add(w, (struct made){.pattern = "pod_evicted",
                         .first_ns = T0 + 200 * S,
                         .pod_ns = T0 + 200 * S,
                         .at = {.node = "gpu-07", .pod = "worker-5"}});
    link_all(w);
    assert_linked(w, "hbm_ecc", "xid_correlation");
    assert_linked(w, "xid_correlation", "nccl_hang");
    assert_apart(w, "hbm_ecc", "nccl_hang");
    assert_linked(w, "nccl_hang", "pod_evicted");
    assert_apart(w, "xid_correlation", "pod_evicted");
    assert_apart(w, "hbm_ecc", "pod_evicted");
    static const char *const all[] = {"hbm_ecc", "xid_correlation", "nccl_hang", "pod_evicted"};
    for (size_t i = 0; i < 4; i++) {
        const struct tc_incident_entry *v = get(w, all[i], 1);
        assert_int_equal(v->finding.root, i == 0);
        assert_true(tc_slice_eq(v->verdict.group, get(w, "hbm_ecc", 1)->verdict.incident_id));
    }
}

/* The same eviction before the hang is its cause, after it its consequence. */
static void time_decides_between_hang_and_eviction(void **state)
{
    struct world *w = *state;
    note(w, T0, (struct at){.rank = 6, .node = "n", .pod = "worker-5"});
    add(w, (struct made){.pattern = "pod_evicted",
                         .first_ns = T0,
                         .pod_ns = T0,
                         .at = {.node = "n", .pod = "worker-5"}});
    hang(w, T0 + 30 * S);
    link_all(w);
    assert_linked(w, "pod_evicted", "nccl_hang");
    assert_apart(w, "nccl_hang", "pod_evicted");
}

static void an_eviction_for_pressure_is_not_blamed_on_a_gpu_next_to_it(void **state)
{
    for (int partial = 0; partial <= 1; partial++) {
        struct world *w = world_create();
        assert_non_null(w);
        ecc(w, T0);
        add(w, (struct made){.pattern = "pod_evicted",
                             .first_ns = T0 + 20 * S,
                             .pod_ns = T0 + 20 * S,
                             .partial = partial == 1,
                             .at = {.node = "gpu-07", .pod = "worker-5"}});
        link_all(w);
        assert_int_equal(link_of(w, "hbm_ecc", "pod_evicted") != NULL, partial);
        world_destroy(w);
    }
    (void)state;
}

static void a_pod_is_tied_to_the_gpu_it_uses(void **state)
{
    struct world *w = *state;
    note(w, T0 - 60 * S, (struct at){.node = "gpu-07", .uuid = UUID, .pod = "worker-5"});
    ecc(w, T0);
    add(w, (struct made){.pattern = "pod_evicted",
                         .first_ns = T0 + 900 * S,
                         .pod_ns = T0 + 900 * S,
                         .at = {.node = "gpu-07", .pod = "worker-5"}});
    add(w, (struct made){.pattern = "pod_evicted",
                         .n = 2,
                         .first_ns = T0 + 900 * S,
                         .pod_ns = T0 + 900 * S,
                         .partial = true,
                         .at = {.node = "gpu-07", .pod = "bystander"}});
    link_all(w);
    assert_linked(w, "hbm_ecc", "pod_evicted");
    assert_int_equal(get(w, "pod_evicted", 2)->verdict.cause_count, 0);
}

static void a_board_that_was_exchanged_joins_nothing(void **state)
{
    struct world *w = *state;
    note(w, T0 - 900 * S, (struct at){.node = "gpu-07", .index = 4, .uuid = "GPU-old"});
    note(w, T0, (struct at){.node = "gpu-07", .index = 4, .uuid = UUID});
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .index = 4, .undated = true});
    add(w, (struct made){.pattern = "hbm_ecc",
                         .first_ns = T0 - 800 * S,
                         .at = {.node = "gpu-07", .uuid = "GPU-old"}});
    hang(w, T0 + S);
    link_all(w);
    assert_apart(w, "hbm_ecc", "nccl_hang");
}

static void a_rank_that_moved_is_where_it_was_last(void **state)
{
    struct world *w = *state;
    note(w, T0 - 900 * S, (struct at){.rank = 6, .node = "gpu-01", .job = "llama"});
    note(w, T0 - 100 * S, (struct at){.rank = 6, .node = "gpu-07", .job = "llama"});
    add(w, (struct made){.pattern = "hbm_ecc", .n = 2, .first_ns = T0, .at = {.node = "gpu-01"}});
    ecc(w, T0);
    hang(w, T0 + S);
    link_all(w);
    assert_linked(w, "hbm_ecc", "nccl_hang");
    assert_int_equal(get(w, "nccl_hang", 1)->verdict.cause_count, 1);
}

static void ranks_of_another_job_are_other_ranks(void **state)
{
    struct world *w = *state;
    note(w, T0, (struct at){.rank = 6, .node = "gpu-07", .job = "other"});
    note(w, T0, (struct at){.rank = 6, .node = "gpu-01", .job = "llama"});
    ecc(w, T0);
    hang(w, T0 + S);
    link_all(w);
    assert_apart(w, "hbm_ecc", "nccl_hang");
}

static void the_only_job_that_is_known_is_the_job_of_the_dumps(void **state)
{
    struct world *w = *state;
    note(w, T0, (struct at){.rank = 6, .node = "gpu-07", .job = "llama-pretrain-0"});
    ecc(w, T0);
    hang(w, T0 + S);
    link_all(w);
    assert_linked(w, "hbm_ecc", "nccl_hang");
}

/* The word in the name of a dump is a node, a pod or nothing, as other data knows it. */
static void the_name_of_a_dump_leads_to_what_is_known_by_it(void **state)
{
    static const struct {
        const char *word;
        bool linked;
    } cases[] = {{"gpu-07", true}, {"worker-5", true}, {"rank", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world *w = world_create();
        assert_non_null(w);
        note(w, 0,
             (struct at){.rank = 6, .node = cases[i].word, .origin = "name", .undated = true});
        note(w, T0, (struct at){.node = "gpu-07", .uuid = UUID, .pod = "worker-5"});
        ecc(w, T0);
        hang(w, T0 + S);
        link_all(w);
        if ((link_of(w, "hbm_ecc", "nccl_hang") != NULL) != cases[i].linked) {
            fail_msg("%s", cases[i].word);
        }
        world_destroy(w);
    }
    (void)state;
}

static void two_culprits_have_two_causes(void **state)
{
    struct world *w = *state;
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .undated = true});
    note(w, 0, (struct at){.rank = 9, .node = "gpu-09", .undated = true});
    ecc(w, T0);
    add(w, (struct made){.pattern = "hbm_ecc", .n = 2, .first_ns = T0, .at = {.node = "gpu-09"}});
    add(w, (struct made){.pattern = "nccl_hang", .first_ns = T0 + S, .culprits = {6, 9}});
    link_all(w);
    assert_int_equal(get(w, "nccl_hang", 1)->verdict.cause_count, 2);
    /* One story with two roots, named after the first. */
    assert_true(get(w, "hbm_ecc", 2)->finding.root);
    assert_true(tc_slice_eq(get(w, "hbm_ecc", 2)->verdict.group,
                            get(w, "hbm_ecc", 1)->verdict.incident_id));
}

static void a_detectors_own_causes_stay(void **state)
{
    struct world *w = *state;
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .undated = true});
    ecc(w, T0);
    hang(w, T0 + S);
    add(w, (struct made){.pattern = "nccl_hang",
                         .n = 2,
                         .first_ns = T0 + S,
                         .culprits = {6},
                         .own_cause = "nccl_hang"});
    link_all(w);
    const struct tc_verdict *v = &get(w, "nccl_hang", 2)->verdict;
    /* The ECC error is told once, at the hang that explains this one. */
    assert_int_equal(v->cause_count, 1);
    assert_true(tc_slice_eq(v->causes[0].why, TC_LIT("its own reason")));
    assert_linked(w, "hbm_ecc", "nccl_hang");
    link_all(w); /* linking again starts from the beginning */
    assert_int_equal(get(w, "nccl_hang", 2)->verdict.cause_count, 1);
    assert_int_equal(get(w, "nccl_hang", 1)->verdict.cause_count, 1);
}

static void a_straggler_with_a_hot_gpu_is_a_slow_gpu(void **state)
{
    for (int same = 0; same <= 1; same++) {
        struct world *w = world_create();
        assert_non_null(w);
        note(w, 0,
             (struct at){.rank = 6, .node = "gpu-07", .index = same == 1 ? 4 : 5, .undated = true});
        add(w, (struct made){.pattern = "thermal_throttle",
                             .first_ns = T0,
                             .at = {.node = "gpu-07", .index = 4}});
        add(w, (struct made){.pattern = "straggler",
                             .first_ns = T0 + 30 * S,
                             .discriminator = "slow_host",
                             .at = {.rank = 6, .job = "llama"}});
        link_all(w);
        assert_true(tc_slice_eq(get(w, "straggler", 1)->finding.discriminator,
                                same == 1 ? TC_LIT("slow_gpu") : TC_LIT("slow_host")));
        world_destroy(w);
    }
    (void)state;
}

static void a_network_fault_is_about_the_whole_node(void **state)
{
    struct world *w = *state;
    note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .index = 4, .undated = true});
    add(w, (struct made){.pattern = "network_link_fault",
                         .first_ns = T0,
                         .at = {.node = "gpu-07", .bus = 0x5c + 1}});
    hang(w, T0 + S);
    link_all(w);
    assert_linked(w, "network_link_fault", "nccl_hang");
}

static void a_switch_is_no_gpu_of_its_node(void **state)
{
    static const char *const devices[] = {"nvswitch", "gpu"};
    for (size_t i = 0; i < 2; i++) {
        struct world *w = world_create();
        assert_non_null(w);
        note(w, 0, (struct at){.rank = 6, .node = "gpu-07", .bus = 0x43 + 1, .undated = true});
        add(w, (struct made){.pattern = "nvlink_degraded",
                             .first_ns = T0,
                             .at = {.node = "gpu-07", .bus = 0xc1 + 1},
                             .device = devices[i]});
        hang(w, T0 + S);
        link_all(w);
        assert_int_equal(link_of(w, "nvlink_degraded", "nccl_hang") != NULL, i == 0);
        world_destroy(w);
    }
    (void)state;
}

static void too_many_statements_are_counted(void **state)
{
    struct world *w = *state;
    char node[32];
    for (unsigned i = 0; i < 131072 + 7; i++) {
        (void)snprintf(node, sizeof node, "node-%u", i);
        note(w, T0, (struct at){.node = node, .index = 1});
        note(w, T0 + S, (struct at){.node = node, .index = 1}); /* the same again */
    }
    struct tc_directory_counts counts;
    tc_directory_counts(w->directory, &counts);
    assert_int_equal(counts.statements_dropped, 2 * 7);
    ecc(w, T0);
    link_all(w);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_rank_of_the_map_leads_to_its_gpu),
        TEST(another_gpu_of_the_same_node_is_no_cause),
        TEST(the_node_is_enough_while_the_gpu_of_the_rank_is_not_known),
        TEST(facts_of_one_time_are_told_in_one_order),
        TEST(without_a_place_nothing_is_linked),
        TEST(time_has_two_edges),
        TEST(a_cause_counts_from_when_it_was_last_seen),
        TEST(a_chain_is_told_link_by_link),
        TEST(time_decides_between_hang_and_eviction),
        TEST(an_eviction_for_pressure_is_not_blamed_on_a_gpu_next_to_it),
        TEST(a_pod_is_tied_to_the_gpu_it_uses),
        TEST(a_board_that_was_exchanged_joins_nothing),
        TEST(a_rank_that_moved_is_where_it_was_last),
        TEST(ranks_of_another_job_are_other_ranks),
        TEST(the_only_job_that_is_known_is_the_job_of_the_dumps),
        TEST(the_name_of_a_dump_leads_to_what_is_known_by_it),
        TEST(two_culprits_have_two_causes),
        TEST(a_detectors_own_causes_stay),
        TEST(a_straggler_with_a_hot_gpu_is_a_slow_gpu),
        TEST(a_network_fault_is_about_the_whole_node),
        TEST(a_switch_is_no_gpu_of_its_node),
        TEST(too_many_statements_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
