/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tools of rdma-core and ibutils say of ports: ibstat, ibstatus, ibv_devinfo, rdma link,
 * perfquery, ibqueryerrors, iblinkinfo, ibportstate, ibdiagnet and the files below
 * /sys/class/infiniband. One line says one thing of a port; which port it is, the nearest line
 * above says that names one.
 *
 * Ports are named as exporters name them: "mlx5_0", "mlx4_0/2" for a second port. Where only the
 * fabric's names are known: "Lid 22/17", or the name that ibdiagnet has for it. Ports of switches
 * are left out of iblinkinfo: most that are down have no cable.
 */
#include "codec/codec.h"
#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"
#include "event/metric.h"

#define S(literal) TC_LIT(literal)
/* How far below the line that names a port others are about it. */
#define PORT_WITHIN 4096
#define VALUE_MAX 1e18

/* A port that was named, and where. */
struct port {
    struct tc_slice node;
    struct tc_slice device; /* with the number of the port, where that is not 1 */
    struct tc_slice card;   /* without */
    size_t at;
    bool known;
    bool is_switch;
};

static const struct tc_slice LITERALS[] = {
    TC__LITERAL("CA '"),
    TC__LITERAL("CA: "),
    TC__LITERAL("Switch: 0x"),
    TC__LITERAL("Infiniband device '"),
    TC__LITERAL("hca_id:"),
    TC__LITERAL("Port "),
    TC__LITERAL("port:"),
    TC__LITERAL("State:"),
    TC__LITERAL("state:"),
    TC__LITERAL("LinkState:"),
    TC__LITERAL("link mlx"),
    TC__LITERAL("physical_state"),
    TC__LITERAL("Errors for \""),
    TC__LITERAL("ErrorCounter"),
    TC__LITERAL("ErrorRecoveryCounter"),
    TC__LITERAL("LinkDownedCounter"),
    TC__LITERAL("PortRcvErrors"),
    TC__LITERAL("] ==("),
    TC__LITERAL("Port="),
    TC__LITERAL("link_down"),
    TC__LITERAL("link_error_recovery"),
    TC__LITERAL("symbol_error"),
    TC__LITERAL("port_rcv_errors"),
    TC__LITERAL("-W- lid="),
    TC__LITERAL("/ports/"),
    TC__LITERAL("-I- "),
    TC__LITERAL("bad nodes found"),
};

/* Words for the logical states of a port, in any case. */
static double state_of(struct tc_slice word)
{
    static const struct {
        const char *name;
        double state;
    } rows[] = {{"Down", 1},       {"PORT_DOWN", 1},  {"Init", 2},  {"Initializing", 2},
                {"Initialize", 2}, {"PORT_INIT", 2},  {"Armed", 3}, {"PORT_ARMED", 3},
                {"Active", 4},     {"PORT_ACTIVE", 4}};
    size_t i = tc_slice_row_nocase(word, rows, name);
    return i < TC_COUNT(rows) ? rows[i].state : 0;
}

/* Counters by the names of perfquery, of ibdiagnet and of the kernel. */
static enum tc_metric counter_of(struct tc_slice name)
{
    static const struct {
        const char *name;
        enum tc_metric metric;
    } rows[] = {
        {"SymbolErrorCounter", TC_METRIC_IB_SYMBOL_ERRORS},
        {"symbol_error_counter", TC_METRIC_IB_SYMBOL_ERRORS},
        {"symbol_error", TC_METRIC_IB_SYMBOL_ERRORS},
        {"LinkErrorRecoveryCounter", TC_METRIC_IB_LINK_RECOVERY},
        {"link_error_recovery_counter", TC_METRIC_IB_LINK_RECOVERY},
        {"link_error_recovery", TC_METRIC_IB_LINK_RECOVERY},
        {"LinkDownedCounter", TC_METRIC_IB_LINK_DOWNED},
        {"link_down_counter", TC_METRIC_IB_LINK_DOWNED},
        {"link_downed", TC_METRIC_IB_LINK_DOWNED},
        {"PortRcvErrors", TC_METRIC_IB_RCV_ERRORS},
        {"port_rcv_errors", TC_METRIC_IB_RCV_ERRORS},
    };
    size_t i = tc_slice_row(name, rows, name);
    return i < TC_COUNT(rows) ? rows[i].metric : TC_METRIC_COUNT;
}

/* "411", "0xff (overflow)" */
static bool value_of(struct tc_slice text, double *out)
{
    uint64_t value = 0;
    bool hex = tc_slice_starts(text, S("0x"));
    size_t used = hex ? tc_slice_hex(tc_slice_from(text, 2), &value) : tc_slice_u64(text, &value);
    *out = (double)value;
    return used > 0 && *out <= VALUE_MAX;
}

/* "mlx5_0", or "mlx4_0/2". False: the arena is full. */
static bool name_port(struct tc__lines *w, struct port *p, struct tc_slice card,
                      struct tc_slice number)
{
    p->device = card;
    if (number.len == 0 || tc_slice_eq(number, S("1")) || w->out->arena == NULL) {
        return true;
    }
    char *to = tc_new(w->out->arena, char, card.len + 1 + number.len);
    if (to == NULL) {
        return false;
    }
    memcpy(to, card.ptr, card.len);
    to[card.len] = '/';
    memcpy(to + card.len + 1, number.ptr, number.len);
    p->device = tc_slice_make(to, card.len + 1 + number.len);
    return true;
}

/* "gpu-07 mlx5_3", "gpu-07 HCA-1", "leaf-12": a node's description. */
static void read_description(struct port *p, struct tc_slice text)
{
    struct tc_slice rest;
    text = tc_slice_trim(text);
    struct tc_slice first = tc_slice_cut(text, ' ', &rest);
    rest = tc_slice_trim(rest);
    p->node = rest.len > 0 ? first : TC_EMPTY;
    p->card = rest.len > 0 ? rest : first;
}

static tc_status put(struct tc__lines *w, const struct tc__line *line, const struct port *p,
                     enum tc_metric metric, double value)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.metric.metric = (uint16_t)metric;
    ev.metric.value = value;
    ev.metric.device = p->device;
    ev.scope.node = p->node;
    return p->device.len > TC_SCOPE_TEXT_MAX || p->node.len > TC_SCOPE_TEXT_MAX
               ? TC_OK
               : tc__lines_deliver(w, line, &ev);
}

/* Lines that name a port for those below: slot 0 the card, slot 1 the number of the port, slot 2
 * the description of the node in place of the card, slot 3 the local id. */
static const char *const NAMING[] = {
    "CA<:|> '{0*}'",
    "CA: {2*}:$",
    "Infiniband device '{0*}' port {1%d} status:",
    "hca_id:%s{0%n}",
    "Errors for \"{2*}\"",
    "# Port <counters|extended counters|info>: Lid {3%d} port {1%d}",
    "Port=*Port Name={0%w}",
    "-W- lid=*dev=%d {0%w}",
};

static tc_status read_naming(struct tc__lines *w, struct port *p, const struct tc__line *line,
                             struct tc_slice t, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = (size_t)(line->raw.ptr - w->in->bytes.ptr);
    bool named = false;
    for (size_t i = 0; i < TC_COUNT(NAMING) && !named; i++) {
        named = tc__text_match(t, NAMING[i], got);
    }
    *out_ours = named;
    if (named) {
        *p = (struct port){.node = line->scope.node, .card = got[0], .at = at, .known = true};
        if (got[2].len > 0) {
            read_description(p, got[2]);
        } else if (got[3].len > 0) {
            /* With the "Lid " before it. */
            p->card = tc_slice_make(got[3].ptr - 4, got[3].len + 4);
        }
        return name_port(w, p, p->card, got[1]) ? TC_OK : TC_E_NOMEM;
    }
    if (tc_slice_starts(t, S("Switch: 0x"))) {
        *p = (struct port){.at = at, .known = true, .is_switch = true};
        *out_ours = true;
        return TC_OK;
    }
    if (p->known &&
        (tc__text_match(t, "Port {1%d}:$", got) || tc__text_match(t, "port:%s{1%d}", got))) {
        *out_ours = true;
        return name_port(w, p, p->card, got[1]) ? TC_OK : TC_E_NOMEM;
    }
    return TC_OK;
}

/* "State: Active", "state: 4: ACTIVE", "state: PORT_DOWN (1)", "LinkState:....Down" */
static tc_status read_state(struct tc__lines *w, const struct port *p, const struct tc__line *line,
                            struct tc_slice t, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (!tc__text_match(t, "<State|state>:%s<%d: |>{0%w}", got) &&
        !tc__text_match(t, "LinkState:{0*}", got)) {
        return TC_OK;
    }
    struct tc_slice word = got[0];
    while (tc_slice_starts(word, S("."))) {
        word = tc_slice_from(word, 1);
    }
    double state = state_of(tc_slice_trim(word));
    *out_ours = state > 0;
    return state > 0 ? put(w, line, p, TC_METRIC_IB_STATE, state) : TC_OK;
}

/* "SymbolErrorCounter:....65535", "symbol_error_counter=12", "link_down_counter  : 0xff" */
static tc_status read_counter(struct tc__lines *w, const struct port *p,
                              const struct tc__line *line, struct tc_slice t, bool *out_ours)
{
    size_t end = 0;
    double value = 0;
    while (end < t.len &&
           (t.ptr[end] == '_' || (t.ptr[end] >= '0' && t.ptr[end] <= '9') ||
            (t.ptr[end] >= 'A' && t.ptr[end] <= 'Z') || (t.ptr[end] >= 'a' && t.ptr[end] <= 'z'))) {
        end++;
    }
    enum tc_metric metric = counter_of(tc_slice_head(t, end));
    if (metric == TC_METRIC_COUNT) {
        return TC_OK;
    }
    struct tc_slice rest = tc_slice_from(t, end);
    size_t skip = 0;
    static const char between[] = {' ', '.', ':', '=', '\t'};
    while (skip < rest.len && memchr(between, rest.ptr[skip], sizeof between) != NULL) {
        skip++;
    }
    *out_ours = skip > 0 && value_of(tc_slice_from(rest, skip), &value);
    return *out_ours ? put(w, line, p, metric, value) : TC_OK;
}

/* ibqueryerrors: "GUID 0x... port 1: [SymbolErrorCounter == 65535] [LinkDownedCounter == 240]" */
static tc_status read_query_errors(struct tc__lines *w, struct port *p, const struct tc__line *line,
                                   struct tc_slice t, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (!p->known || !tc__text_match(t, "GUID 0x%x port {0%n}:{1*}", got)) {
        return TC_OK;
    }
    *out_ours = true;
    if (tc_slice_starts(got[0], S("ALL"))) {
        return TC_OK; /* a sum over a switch */
    }
    struct tc_slice rest = tc_slice_from(t, tc_slice_find_byte(t, '['));
    if (!name_port(w, p, p->card, got[0])) {
        return TC_E_NOMEM;
    }
    for (unsigned i = 0; i < 64 && tc__text_match(rest, "[{0%n} == {1%d}]%s{2*}", got); i++) {
        double value = 0;
        enum tc_metric metric = counter_of(got[0]);
        rest = got[2];
        if (metric != TC_METRIC_COUNT && value_of(got[1], &value)) {
            TC_TRY(put(w, line, p, metric, value));
        }
    }
    return TC_OK;
}

/*
 * iblinkinfo, "0x... 117 1[  ] ==( 4X 53.125 Gbps Active/ LinkUp)==> ...", below a line that names
 * the card, or with -l behind the name in quotes.
 */
static tc_status read_link(struct tc__lines *w, struct port *p, const struct tc__line *line,
                           struct tc_slice t, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct port named = *p;
    if (!tc__text_match(t, "*==({0*}/*)==", got)) {
        return TC_OK;
    }
    size_t last = tc_slice_find_last(got[0], S(" "));
    double state = state_of(tc_slice_from(got[0], last == TC_NPOS ? 0 : last + 1));
    *out_ours = state > 0;
    struct tc_slice head = tc_slice_head(t, tc_slice_find(t, S("==(")));
    size_t bracket = tc_slice_find_byte(head, '[');
    struct tc_slice before = tc_slice_trim(tc_slice_head(head, bracket));
    size_t blank = tc_slice_find_last(before, S(" "));
    struct tc_slice number = tc_slice_from(before, blank == TC_NPOS ? 0 : blank + 1);
    if (tc__text_match(t, "0x%x \"{0*}\"", got)) {
        named = (struct port){.known = true};
        read_description(&named, got[0]);
        named.is_switch = named.node.len == 0;
    }
    if (state == 0 || !named.known || named.is_switch) {
        return TC_OK;
    }
    if (!name_port(w, &named, named.card, number)) {
        return TC_E_NOMEM;
    }
    return put(w, line, &named, TC_METRIC_IB_STATE, state);
}

/* Lines that name their port themselves: rdma link, and grep over the files of the kernel. */
static tc_status read_whole(struct tc__lines *w, const struct tc__line *line, struct tc_slice t,
                            bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct port p = {.known = true};
    enum tc_metric metric = TC_METRIC_IB_STATE;
    double value = 0;
    if (tc__text_match(t, "<%d/%d:%s|>link {0*}/{1%d} *state {2%w} physical_state", got) ||
        tc__text_match(t, "*/infiniband/{0*}/ports/{1%d}/state:%s%d: {2%w}", got)) {
        value = state_of(got[2]);
        *out_ours = value > 0;
    } else if (tc__text_match(t, "*/infiniband/{0*}/ports/{1%d}/counters/{2%n}:%s{3%d}", got)) {
        metric = counter_of(got[2]);
        *out_ours = value_of(got[3], &value);
    }
    if (!*out_ours || metric == TC_METRIC_COUNT) {
        return TC_OK;
    }
    return name_port(w, &p, got[0], got[1]) ? put(w, line, &p, metric, value) : TC_E_NOMEM;
}

/* Lines of healthy reports. */
static bool is_known(struct tc_slice t)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    return tc__text_match(t, "## Summary: %d nodes checked, %d bad nodes found", got) ||
           tc__text_match(t, "-I- <errors = %d warnings|Links: %d physical|Duplicated GUIDs>", got);
}

static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct port *p = w->context;
    struct tc_slice t = tc_slice_trim(line->text);
    size_t at = (size_t)(line->raw.ptr - w->in->bytes.ptr);
    if (p->known && (at - p->at > PORT_WITHIN && !p->is_switch)) {
        p->known = false;
    }
    TC_TRY(read_naming(w, p, line, t, out_ours));
    if (*out_ours) {
        return TC_OK;
    }
    TC_TRY(read_whole(w, line, t, out_ours));
    TC_TRY(*out_ours ? TC_OK : read_link(w, p, line, t, out_ours));
    TC_TRY(*out_ours ? TC_OK : read_query_errors(w, p, line, t, out_ours));
    /* With pdsh the lines of several nodes mix. */
    bool same = line->scope.node.len == 0 || tc_slice_eq(line->scope.node, p->node);
    if (!*out_ours && p->known && !p->is_switch && same) {
        TC_TRY(read_state(w, p, line, t, out_ours));
        TC_TRY(*out_ours ? TC_OK : read_counter(w, p, line, t, out_ours));
    }
    *out_ours = *out_ours || is_known(t);
    return TC_OK;
}

static const struct tc__line_reader READER = {.of_node = true,
                                              .literals = LITERALS,
                                              .literal_count = TC_COUNT(LITERALS),
                                              .read = read_line,
                                              .state = &(const struct port){.at = 0},
                                              .state_bytes = sizeof(struct port)};

const struct tc_codec tc_codec_infiniband = {
    .name = "infiniband",
    .summary = "InfiniBand tools: ibstat, ibstatus, perfquery, iblinkinfo, ibdiagnet and others",
    .known_by = "lines that name a card and a port, and states or counters below them",
    .gives = "metric",
    .example = "Infiniband device 'mlx5_0' port 1 status:",
    .picks_lines = true,
    .lines = &READER,
};
