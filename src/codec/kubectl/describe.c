/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `kubectl describe`: blocks of "Key: value". Indentation is lost in tickets, so that the keys and
 * their order say what belongs to what: a container is a key without a value in front of "Image:"
 * or "Container ID:", and what follows "State:" is about that state.
 *
 * A block begins with "Name:". Where the top is cut off, it begins with the first key that only a
 * pod has, and its name is not known.
 */
#include "base/limits.h"
#include "base/time.h"
#include "codec/k8s/k8s_priv.h"
#include "codec/kubectl/priv.h"
#include "codec/match_priv.h"

#define S(literal) TC_LIT(literal)

enum key {
    NAME,
    NAMESPACE,
    NODE,
    STATUS,
    REASON,
    MESSAGE,
    POD_ONLY,
    NODE_ONLY,
    CONTAINERS,
    CONTAINER_FIRST, /* what a container's keys begin with */
    STATE,
    LAST_STATE,
    EXIT_CODE,
    SIGNAL,
    FINISHED,
    STARTED,
    STATE_OVER, /* what follows the states of a container */
    SECTION,    /* something else begins */
    EVENTS,
    INVOLVED,
    KIND,
    UID,
    COUNT,
    FIRST_SEEN,
    LAST_SEEN,
    TYPE,
    COMPONENT,
    HOST,
    NOT_A_KEY
};

static const struct {
    const char *text;
    enum key key;
} KEYS[] = {
    {"Name", NAME},
    {"Namespace", NAMESPACE},
    {"Node", NODE},
    {"Status", STATUS},
    {"Reason", REASON},
    {"Message", MESSAGE},
    {"Start Time", POD_ONLY},
    {"QoS Class", POD_ONLY},
    {"Node-Selectors", POD_ONLY},
    {"Tolerations", POD_ONLY},
    {"Roles", NODE_ONLY},
    {"Taints", NODE_ONLY},
    {"Unschedulable", NODE_ONLY},
    {"Non-terminated Pods", NODE_ONLY},
    {"Containers", CONTAINERS},
    {"Init Containers", CONTAINERS},
    {"Ephemeral Containers", CONTAINERS},
    {"Container ID", CONTAINER_FIRST},
    {"Image", CONTAINER_FIRST},
    {"State", STATE},
    {"Last State", LAST_STATE},
    {"Exit Code", EXIT_CODE},
    {"Signal", SIGNAL},
    {"Finished", FINISHED},
    {"Started", STARTED},
    {"Ready", STATE_OVER},
    {"Restart Count", STATE_OVER},
    {"Conditions", SECTION},
    {"Volumes", SECTION},
    {"Addresses", SECTION},
    {"Events", EVENTS},
    {"Involved Object", INVOLVED},
    {"Regarding", INVOLVED},
    {"Kind", KIND},
    {"UID", UID},
    {"Count", COUNT},
    {"First Timestamp", FIRST_SEEN},
    {"Last Timestamp", LAST_SEEN},
    {"Event Time", LAST_SEEN},
    {"Type", TYPE},
    {"Reporting Component", COMPONENT},
    {"Reporting Controller", COMPONENT},
    {"Component", COMPONENT},
    {"Host", HOST},
};

static enum key key_of(struct tc_slice text)
{
    size_t i = tc_slice_row(text, KEYS, text);
    return i < TC_COUNT(KEYS) ? KEYS[i].key : NOT_A_KEY;
}

/* "Key:  value"; no key is longer than the longest above by much. */
static bool split_key(struct tc_slice text, struct tc_slice *out_key, struct tc_slice *out_value)
{
    size_t colon = tc_slice_find_byte(tc_slice_head(text, 64), ':');
    if (colon == TC_NPOS || colon == 0 ||
        (colon + 1 < text.len && text.ptr[colon + 1] != ' ' && text.ptr[colon + 1] != '\t')) {
        return false;
    }
    *out_key = tc_slice_head(text, colon);
    *out_value = tc_slice_trim(tc_slice_from(text, colon + 1));
    if (tc_slice_eq(*out_value, S("<none>")) || tc_slice_eq(*out_value, S("<nil>")) ||
        tc_slice_eq(*out_value, S("<unset>"))) {
        *out_value = TC_EMPTY;
    }
    return true;
}

static void open_block(struct tc__kubectl *k, const struct tc__kubectl_line *line)
{
    k->block = (struct tc__kubectl_block){
        .open = true,
        .finished_ns = TC_TIME_NONE,
        .evicted_ns = TC_TIME_NONE,
        .numbers = TC__K8S_NUMBERS_NONE,
        .from = line->at,
        .to = line->at + line->raw.len,
    };
    tc_event_init(&k->block.event, TC_EVENT_K8S_EVENT);
}

static void pod_scope(const struct tc__kubectl_block *b, struct tc_event *ev)
{
    ev->scope.node = b->node;
    ev->scope.ns = b->ns;
    ev->scope.pod = b->name;
    ev->pod.phase = b->phase;
}

/* Tells the end of a container that was read up to here. */
static tc_status close_end(struct tc__kubectl *k)
{
    struct tc__kubectl_block *b = &k->block;
    struct tc__kubectl_end end = b->end;
    struct tc_event ev;
    b->end = (struct tc__kubectl_end){0};
    if (!end.open) {
        return TC_OK;
    }
    if (!end.last && end.finished_ns > b->finished_ns) {
        b->finished_ns = end.finished_ns;
    }
    if (!tc__k8s_ended_badly(end.reason, end.exit_code)) {
        return TC_OK;
    }
    b->bad++;
    k->sure++;
    tc_event_init(&ev, TC_EVENT_POD_STATE);
    pod_scope(b, &ev);
    ev.time_ns = end.finished_ns;
    ev.scope.container = b->container;
    /* That it was told to end is why it did. */
    bool told = b->deleted && !end.last;
    ev.pod.reason = told ? S("Deleted") : end.reason;
    ev.pod.message = told && end.message.len == 0 ? end.reason : end.message;
    ev.pod.exit_code = end.exit_code;
    ev.pod.signal = end.signal > 0 ? end.signal : tc__k8s_exit_signal(end.exit_code);
    return tc__kubectl_deliver(k, b->from, b->to, &ev);
}

/* Which ranks the pod runs, where its environment and its labels say so. */
static tc_status tell_ranks(struct tc__kubectl *k)
{
    struct tc__kubectl_block *b = &k->block;
    int64_t first = 0;
    int64_t count = b->name.len > 0 && b->node.len > 0 ? tc__k8s_ranks_of(&b->numbers, &first) : 0;
    for (int64_t i = 0; i < count; i++) {
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_RANK_PLACE);
        ev.place.origin = S("pod");
        ev.place.world_size = b->numbers.world >= first + count ? b->numbers.world : -1;
        ev.scope.node = b->node;
        ev.scope.ns = b->ns;
        ev.scope.pod = b->name;
        ev.scope.job = b->job;
        ev.scope.rank = (int32_t)(first + i);
        TC_TRY(tc__kubectl_deliver(k, b->from, b->to, &ev));
    }
    return TC_OK;
}

/* Labels, annotations, limits and the environment, whose lines may have no key of their own. True
 * when the line was one that is kept. */
static bool read_number(struct tc__kubectl_block *b, struct tc_slice text)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    int64_t gpus = 0;
    if (tc__text_match(text,
                       "<Labels:%s|><training.kubeflow.org/job-name|batch.kubernetes.io/"
                       "job-name|job-name|jobset.sigs.k8s.io/jobset-name>={0%w}",
                       got)) {
        b->job = got[0].len > 0 && got[0].len <= TC_SCOPE_TEXT_MAX ? got[0] : b->job;
        return true;
    }
    if (tc__text_match(text, "<Labels:%s|>training.kubeflow.org/replica-index=", got)) {
        b->numbers.replica = true;
        return true;
    }
    if (tc__text_match(text, "nvidia.com/gpu:%s{0%d}$", got)) {
        /* Requests repeat limits. */
        b->numbers.gpus = tc_slice_is_i64(got[0], &gpus) && gpus <= TC_FR_RANK_MAX ? gpus : 0;
        return true;
    }
    if (tc__text_match(text, "<Annotations:%s|Labels:%s|>{0*}={1*}", got)) {
        tc__k8s_note_number(&b->numbers, got[0], tc_slice_trim(got[1]));
    }
    if (tc__text_match(text, "<Annotations:%s|>{0%n}:%s{1*}", got)) {
        tc__k8s_note_number(&b->numbers, got[0], tc_slice_trim(got[1]));
    }
    return false;
}

tc_status tc__kubectl_close(struct tc__kubectl *k)
{
    struct tc__kubectl_block *b = &k->block;
    TC_TRY(close_end(k));
    bool is_pod = b->is_pod && (b->name.len > 0 || b->reason.len > 0);
    /* With its top and its bottom cut off: that it failed and why is nothing else's. */
    is_pod = is_pod || (tc_slice_eq(b->phase, S("Failed")) && b->reason.len > 0);
    bool failed = b->bad == 0 && !b->deleted && tc_slice_eq(b->phase, S("Failed"));
    bool runs = b->bad == 0 && !b->deleted && tc_slice_eq(b->phase, S("Running"));
    bool news = b->reason.len > 0 || failed || runs || tc_slice_eq(b->phase, S("Succeeded"));
    tc_status status = TC_OK;
    if (b->open && b->is_event && b->event.k8s.reason.len > 0) {
        struct tc_slice node = b->node;
        b->event.k8s.count = b->event.k8s.count > 0 ? b->event.k8s.count : 1;
        tc__k8s_scope(&b->event, b->ns, node);
        status = tc__kubectl_deliver(k, b->from, b->to, &b->event);
    } else if (b->open && is_pod && !b->is_node && !b->is_event && news) {
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_POD_STATE);
        pod_scope(b, &ev);
        ev.time_ns = b->finished_ns == TC_TIME_NONE ? b->evicted_ns : b->finished_ns;
        ev.pod.reason = b->reason;
        ev.pod.message = b->message;
        status = tc__kubectl_deliver(k, b->from, b->to, &ev);
    }
    TC_TRY(status);
    status = b->open && b->is_pod && !b->is_node && !b->is_event ? tell_ranks(k) : TC_OK;
    b->open = false;
    return status;
}

void tc__kubectl_about(struct tc__kubectl *k, struct tc_event *ev, struct tc_slice host)
{
    struct tc__kubectl_block *b = &k->block;
    struct tc_slice got[TC__TEXT_SLOTS];
    bool kubelet = tc_slice_eq(ev->k8s.component, S("kubelet"));
    /* The scheduler's event names the pod where the top of the block is missing. */
    if (!b->is_node && b->name.len == 0 &&
        tc__text_match(ev->k8s.message, "Successfully assigned {0%n} to {1%w}", got)) {
        size_t slash = tc_slice_find_byte(got[0], '/');
        b->ns = slash == TC_NPOS ? TC_EMPTY : tc_slice_head(got[0], slash);
        b->name = slash == TC_NPOS ? got[0] : tc_slice_from(got[0], slash + 1);
        b->node = got[1];
        b->is_pod = true;
    }
    /* Nothing but pods is evicted by kubelets. */
    b->is_pod = b->is_pod || (!b->is_node && kubelet && tc_slice_eq(ev->k8s.reason, S("Evicted")));
    if (b->is_node || b->is_pod) {
        ev->k8s.object_kind = b->is_node ? S("Node") : S("Pod");
        ev->k8s.object_name = b->name;
    }
    if (!b->is_node && tc_slice_eq(ev->k8s.reason, S("Evicted"))) {
        /* When its containers ended is known better than how long ago it was told. */
        if (b->finished_ns != TC_TIME_NONE) {
            ev->time_ns = b->finished_ns;
            ev->k8s.first_ns = TC_TIME_NONE;
        }
        b->evicted_ns = ev->time_ns;
    }
    tc__k8s_scope(ev, b->ns, host.len > 0 || !kubelet ? host : b->node);
}

/* The line behind this one is a key that comes second in a block. */
static bool begins_block(const struct tc__kubectl *k, const struct tc__kubectl_line *line)
{
    struct tc__kubectl_line next;
    struct tc_slice key;
    struct tc_slice value;
    return tc__kubectl_next(k->in, line->next, NULL, &next) && split_key(next.text, &key, &value) &&
           tc_slice_is_any(key, "Namespace", "Roles", "Role", "Labels", "Priority", "Annotations",
                           "Taints", "Node", "Status", "Start Time");
}

/* Of an event that is described; true when the key was one of its. */
static bool read_event_key(struct tc__kubectl_block *b, enum key key, struct tc_slice value)
{
    struct tc_ev_k8s *k8s = &b->event.k8s;
    bool about = b->section == TC__SECTION_INVOLVED;
    switch (key) {
    case NAME:
        k8s->object_name = about ? value : k8s->object_name;
        return about;
    case NAMESPACE:
        b->ns = value;
        return true;
    case UID:
        k8s->object_uid = about ? value : k8s->object_uid;
        return true;
    case KIND: /* its own follows that of what it is about */
        if (about && k8s->object_kind.len == 0) {
            k8s->object_kind = value;
        } else {
            b->section = TC__SECTION_TOP;
        }
        return true;
    case REASON:
        k8s->reason = value;
        return true;
    case MESSAGE:
        k8s->message = value;
        return true;
    case TYPE:
        k8s->type = value;
        return true;
    case COMPONENT:
        k8s->component = value;
        return true;
    case HOST:
        b->node = value;
        return true;
    case LAST_SEEN:
        (void)tc__k8s_time(value, &b->event.time_ns);
        return true;
    default:
        return false;
    }
}

/* Values up to here that an event has before it is known for one. */
static void read_early_event_key(struct tc__kubectl_block *b, enum key key, struct tc_slice value)
{
    int64_t count = 0;
    if (key == COUNT && tc_slice_is_i64(value, &count) && count > 0) {
        b->event.k8s.count = count;
    } else if (key == FIRST_SEEN) {
        (void)tc__k8s_time(value, &b->event.k8s.first_ns);
    } else if (key == LAST_SEEN) {
        (void)tc__k8s_time(value, &b->event.time_ns);
    }
}

static void read_end_key(struct tc__kubectl_end *end, enum key key, struct tc_slice value)
{
    switch (key) {
    case REASON:
        end->reason = value;
        break;
    case MESSAGE:
        end->message = value;
        break;
    case EXIT_CODE:
        (void)tc_slice_is_i64(value, &end->exit_code);
        break;
    case SIGNAL:
        (void)tc_slice_is_i64(value, &end->signal);
        break;
    case FINISHED:
        (void)tc__kubectl_date(value, &end->finished_ns);
        break;
    default:
        break;
    }
}

/* "Failed", "Terminating (lasts 12m)" */
static bool read_phase(struct tc__kubectl_block *b, struct tc_slice value)
{
    struct tc_slice rest;
    value = tc_slice_cut(value, ' ', &rest);
    b->deleted = tc_slice_eq(value, S("Terminating"));
    bool known = tc_slice_is_any(value, "Pending", "Running", "Succeeded", "Failed", "Unknown");
    b->phase = known ? value : b->phase;
    return known || b->deleted;
}

static tc_status read_status(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                             struct tc_slice value)
{
    struct tc__kubectl_block *b = &k->block;
    if (!b->open || b->phase.len > 0) {
        TC_TRY(tc__kubectl_close(k));
        open_block(k, line);
    }
    if (b->section == TC__SECTION_TOP && read_phase(b, value)) {
        b->from = line->at;
        b->to = line->at + line->raw.len;
        k->maybe++;
    }
    return TC_OK;
}

/* A key of a pod or node. */
static tc_status read_key(struct tc__kubectl *k, const struct tc__kubectl_line *line, enum key key,
                          struct tc_slice value)
{
    struct tc__kubectl_block *b = &k->block;
    switch (key) {
    case NAMESPACE:
        b->ns = b->section == TC__SECTION_TOP && b->ns.len == 0 ? value : b->ns;
        break;
    case NODE:
        b->node = b->section == TC__SECTION_TOP
                      ? tc_slice_head(value, tc_slice_find_byte(value, '/'))
                      : b->node;
        b->is_pod = b->is_pod || b->section == TC__SECTION_TOP;
        break;
    case STATUS:
        return read_status(k, line, value);
    case REASON:
    case MESSAGE:
        if (b->end.open) {
            read_end_key(&b->end, key, value);
        } else if (b->section == TC__SECTION_TOP && b->phase.len > 0) {
            *(key == REASON ? &b->reason : &b->message) = value;
            b->to = line->at + line->raw.len;
        }
        break;
    case POD_ONLY:
        TC_TRY(close_end(k));
        b->is_pod = true;
        break;
    case NODE_ONLY:
        b->is_node = true;
        break;
    case CONTAINERS:
        TC_TRY(close_end(k));
        b->is_pod = true;
        b->section = TC__SECTION_CONTAINERS;
        break;
    case CONTAINER_FIRST:
        b->container = b->before.len > 0 ? b->before : b->container;
        break;
    case STATE:
    case LAST_STATE:
        TC_TRY(close_end(k));
        b->container = b->before.len > 0 ? b->before : b->container;
        b->is_pod = true;
        b->section = TC__SECTION_CONTAINERS;
        if (tc_slice_eq(value, S("Terminated"))) {
            b->end = (struct tc__kubectl_end){.open = true,
                                              .last = key == LAST_STATE,
                                              .exit_code = -1,
                                              .finished_ns = TC_TIME_NONE};
        }
        break;
    case SECTION:
    case EVENTS:
        TC_TRY(close_end(k));
        b->section = TC__SECTION_OTHER;
        break;
    case STATE_OVER:
        return close_end(k);
    case INVOLVED:
        b->is_event = true;
        b->section = TC__SECTION_INVOLVED;
        break;
    default:
        read_end_key(&b->end, key, value);
        read_early_event_key(b, key, value);
        break;
    }
    return TC_OK;
}

/* Keys that begin a block whose top was cut off. */
static bool begins_cut_block(enum key key, struct tc_slice value)
{
    return (key == STATUS && value.len > 0) || key == STATE || key == LAST_STATE ||
           key == CONTAINERS || key == EVENTS;
}

tc_status tc__kubectl_key(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                          bool *out_ours)
{
    struct tc__kubectl_block *b = &k->block;
    struct tc_slice key_text;
    struct tc_slice value;
    if (b->open && !b->is_event && read_number(b, line->text)) {
        *out_ours = true;
    }
    if (!split_key(line->text, &key_text, &value)) {
        b->before = TC_EMPTY;
        return TC_OK;
    }
    enum key key = key_of(key_text);
    tc_status status = TC_OK;
    if (key == NAME && b->section != TC__SECTION_INVOLVED && begins_block(k, line)) {
        TC_TRY(tc__kubectl_close(k));
        open_block(k, line);
        b->name = value;
        k->maybe++;
        *out_ours = true;
        return TC_OK;
    }
    if (!b->open && begins_cut_block(key, value)) {
        TC_TRY(tc__kubectl_close(k));
        open_block(k, line);
    }
    if (b->open && key != NOT_A_KEY) {
        *out_ours = true;
        b->to = b->end.open || b->is_event ? line->at + line->raw.len : b->to;
        if (!b->is_event || !read_event_key(b, key, value)) {
            status = read_key(k, line, key, value);
        }
    }
    b->before = value.len == 0 && key == NOT_A_KEY ? key_text : TC_EMPTY;
    /* A container's name may lie in what the next line no longer needs. */
    *out_ours = *out_ours || b->before.len > 0;
    return status;
}
